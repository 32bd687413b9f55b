/** The files that the Workers are made from, and their digest, which tells whether what was made from them is still true. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "./faults.ts";
import { root } from "./wrangler.ts";

/** The console's Worker contains the documentation and the changelog; packages are chosen by the lock file. */
const sources = ["src", "docs", "CHANGELOG.md", "package-lock.json", "tsconfig.json", "wrangler.toml"];

/** SHA-256 over all files that the Workers are made from, and over the texts. */
export async function sourcesDigest(...texts: string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const file of await sourceFiles(root, ...sources)) {
    // A file that git lists may be deleted.
    const content = await ifThere(readFile(join(root, file)), "ENOTDIR");
    if (content !== undefined) hash.update(`${file}\0`).update(content);
  }
  for (const text of texts) hash.update(`\0${text}`);
  return hash.digest("hex");
}

/**
 * The files among these files and in these folders that git tracks or would track, relative to `root`; without git, all but those in folders
 * whose names begin with a dot. Others change while they are read: `npm start` in the same checkout keeps its temporary files in `.wrangler`
 * beside the Workers.
 */
export async function sourceFiles(root: string, ...paths: string[]): Promise<string[]> {
  return (listedByGit(root, paths) ?? (await Promise.all(paths.map((path) => walk(root, path)))).flat()).sort();
}

function listedByGit(root: string, paths: string[]): string[] | undefined {
  try {
    const args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...paths];
    const files = execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split("\0");
    return files.length > 1 ? files.slice(0, -1) : undefined;
  } catch {
    // No git, or no checkout of it.
    return undefined;
  }
}

async function walk(root: string, path: string): Promise<string[]> {
  const entries = await ifThere(readdir(join(root, path), { withFileTypes: true }), "ENOTDIR");
  if (entries === undefined) return [path];
  const inside = entries.filter(({ name }) => !name.startsWith("."));
  return (await Promise.all(inside.map(({ name }) => walk(root, `${path}/${name}`)))).flat();
}
