/** A deployment's state on this machine, under `.deploy/<name>/`: choices, the progress of an interrupted run, the operator's token. */

import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import * as z from "zod/mini";
import { ifThere, parseJson } from "../support/faults.ts";
import { root } from "../support/wrangler.ts";
import { choicesShape } from "./options.ts";
import { Stop } from "./stop.ts";

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

/** Reads the state; undefined if this machine has none. Throws `Stop` if it cannot be read. */
export async function readState(folder: string): Promise<State | undefined> {
  const path = join(folder, "state.json");
  const text = await readText(path);
  if (text === undefined) return undefined;
  const { data } = stateShape.safeParse(parseJson(text));
  if (data) return data;
  const file = relative(root, path);
  throw new Stop(
    `${file} is damaged, or was written by a release with other options.`,
    `Use that release, or move ${file} away (it has no secrets) and give the options that it names again.`,
  );
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
export const readText = (path: string): Promise<string | undefined> => ifThere(readFile(path, "utf8"));
