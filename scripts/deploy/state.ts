/** A deployment's state on this machine, under `.deploy/<name>/`: choices, the progress of an interrupted run, the operator's token. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod/mini";
import { errorCode } from "../support/faults.ts";
import { root } from "../support/wrangler.ts";
import { choicesShape } from "./options.ts";

const stateShape = z.object({
  account: z.string(),
  choices: choicesShape,
  /** The Workers that the current run has deployed, each with the digest of its content. */
  deployed: z.record(z.string(), z.string()),
  /** True once the first account, its key and the invitation were printed. */
  isWelcomed: z.boolean(),
});

/** The stored state of a deployment. */
export type State = z.infer<typeof stateShape>;

/** The folder of all deployments' state. */
export const stateRoot = join(root, ".deploy");
export const stateFolder = (name: string) => join(stateRoot, name);

/** Reads the state; undefined if this machine has none. */
export async function readState(folder: string): Promise<State | undefined> {
  const text = await readText(join(folder, "state.json"));
  return text === undefined ? undefined : stateShape.parse(JSON.parse(text));
}

/** Replaces the state atomically. */
export async function writeState(folder: string, state: State): Promise<void> {
  await writePrivate(join(folder, "state.json"), `${JSON.stringify(state, undefined, 2)}\n`);
}

/** Writes a file atomically, readable only by this user. */
export async function writePrivate(path: string, text: string): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}

/** Reads a file as text; returns undefined if it does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** SHA-256 over the source files of the folder and over the texts: changes when a deployment would change something. */
export async function digest(folder: string, ...texts: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of await sourceFiles(root, folder)) {
    const text = await readText(join(root, file));
    if (text !== undefined) hash.update(`${file}\0${text}`);
  }
  for (const text of texts) hash.update(`\0${text}`);
  return hash.digest("hex");
}

/**
 * The files of a folder that git tracks or would track, relative to `root`; without git, all but those in folders whose names begin with a dot.
 * Others change while they are read: `npm start` in the same checkout keeps its temporary files in `.wrangler` beside the Workers.
 */
export async function sourceFiles(root: string, folder: string): Promise<string[]> {
  return (listedByGit(root, folder) ?? (await walk(root, folder))).sort();
}

function listedByGit(root: string, folder: string): string[] | undefined {
  try {
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", folder];
    const files = execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split("\0");
    return files.length > 1 ? files.slice(0, -1) : undefined;
  } catch {
    // No git, or no checkout of it.
    return undefined;
  }
}

async function walk(root: string, folder: string): Promise<string[]> {
  const files: string[] = [];
  for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (!entry.name.startsWith(".")) files.push(...(entry.isDirectory() ? await walk(root, path) : [path]));
  }
  return files;
}
