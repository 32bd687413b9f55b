/** The Worker's variables and secrets: which ones are read from the environment, and the file that passes them to wrangler. */

import { existsSync, readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { ifThere } from "./faults.ts";
import { root } from "./wrangler.ts";

/** Variables and secrets by name. */
export type Variables = Record<string, string>;

/** Secrets of upstreams follow a pattern; everything else that the Worker reads is declared. */
const upstream = /^[A-Z][A-Z0-9_]*_(API_KEY|BASE_URL)$/;
const declaration = /^\s+([A-Z][A-Z0-9_]*)\??: (?:string|unknown);/gm;
/** Names that match the pattern but belong to wrangler. */
const tools = /^(CLOUDFLARE|CF|WRANGLER)_/;

/** True if one of the Workers reads a variable of this name: declared in its `env.d.ts`, or a secret or URL of an upstream. */
export function isWorkerVariable(name: string): boolean {
  return (
    declared("src/env.d.ts").has(name) || behind.some((worker) => isDeclared(worker, name)) || (upstream.test(name) && !tools.test(name))
  );
}

/** The Workers behind the gateway that have variables of their own. */
const behind = ["console", "facades/openai", "marks", "operations", "payments"];

/** True if the Worker in the folder `worker` reads a variable of this name. */
export const isDeclared = (worker: string, name: string): boolean => declared(`src/${worker}/env.d.ts`).has(name);

const names = new Map<string, ReadonlySet<string>>();

/** The names of variables and secrets that an `env.d.ts` declares; none if the file does not exist. */
export function declared(file: string): ReadonlySet<string> {
  const path = join(root, file);
  const text = names.has(file) || !existsSync(path) ? "" : readFileSync(path, "utf8");
  const known = names.get(file) ?? new Set([...text.matchAll(declaration)].map(([, name = ""]) => name));
  names.set(file, known);
  return known;
}

/** A developer's settings for the Worker: the file `.dev.vars`, overridden by the environment. */
export async function developerVariables(environment: NodeJS.ProcessEnv): Promise<Variables> {
  const variables: Variables = {};
  const file = (await ifThere(readFile(join(root, ".dev.vars"), "utf8"))) ?? "";
  for (const [name, value] of [
    ...Object.entries(parseEnv(file)),
    ...Object.entries(environment).filter(([one]) => isWorkerVariable(one)),
  ]) {
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

/** Writes the variables to a file that only this user can read; other users could read secrets on a command line. */
export async function writeVariables(path: string, variables: Variables): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(name, value)}\n`);
  // Deleted first, because an existing file would keep its mode.
  await rm(path, { force: true });
  await writeFile(path, lines.join(""), { mode: 0o600 });
}

/** Quotes a value for wrangler's parser: literal, with a kind of quote that it does not contain, and `$` protected from expansion. */
function quoted(name: string, value: string): string {
  const quote = ["'", "`", '"'].find((mark) => !value.includes(mark) && !(mark === '"' && /\\[nr]/.test(value)));
  if (!quote || value.endsWith("\\"))
    throw new Error(`${name}: a value with all three kinds of quotes, or that ends in a backslash, cannot be passed on`);
  return quote + value.replaceAll("$", "\\$") + quote;
}
