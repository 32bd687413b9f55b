/** The Worker's variables and secrets: which of the environment are meant, and the file through which wrangler gets them. */

import { readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { errorCode } from "./error-code.ts";
import { root } from "./wrangler.ts";

/** Variables and secrets by name. */
export type Variables = Record<string, string>;

/** Secrets of upstreams follow a pattern; everything else the Worker knows is declared. */
const upstream = /^[A-Z][A-Z0-9_]*_(API_KEY|BASE_URL)$/;
const declaration = /^\s+([A-Z][A-Z0-9_]*)\??: (?:string|unknown);/gm;
/** Names that look alike but belong to the tool that runs the Worker. */
const tools = /^(CLOUDFLARE|CF|WRANGLER)_/;

/** Whether one of the Workers reads a variable of this name: its `env.d.ts` declares it, or it is an upstream's secret or address. */
export function isWorkerVariable(name: string): boolean {
  return (
    declared("src/env.d.ts").has(name) || behind.some((worker) => isVariableOf(worker, name)) || (upstream.test(name) && !tools.test(name))
  );
}

/** The Workers behind the gateway that have variables of their own. */
const behind = ["console", "openai"];

/** Whether the Worker of the folder `worker` reads a variable of this name. */
export const isVariableOf = (worker: string, name: string): boolean => declared(`src/${worker}/env.d.ts`).has(name);

const names = new Map<string, Set<string>>();
function declared(file: string): Set<string> {
  const known = names.get(file) ?? new Set([...readFileSync(join(root, file), "utf8").matchAll(declaration)].map(([, name = ""]) => name));
  names.set(file, known);
  return known;
}

/** All that a developer has set for the Worker: the file `.dev.vars`, and over it the environment. */
export async function developerVariables(environment: NodeJS.ProcessEnv): Promise<Variables> {
  const variables: Variables = {};
  const file = await readFile(join(root, ".dev.vars"), "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return "";
    throw error;
  });
  for (const [name, value] of [
    ...Object.entries(parseEnv(file)),
    ...Object.entries(environment).filter(([one]) => isWorkerVariable(one)),
  ]) {
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

/** Writes the variables where only this user can read them; secrets have no place in a command line, which everybody sees. */
export async function writeVariables(path: string, variables: Variables): Promise<void> {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(name, value)}\n`);
  // A file that is there would keep its mode.
  await rm(path, { force: true });
  await writeFile(path, lines.join(""), { mode: 0o600 });
}

/** A value as wrangler's reader takes it: literal between quotes of a kind that it does not contain, `$` kept from being expanded. */
function quoted(name: string, value: string): string {
  const quote = ["'", "`", '"'].find((mark) => !value.includes(mark) && !(mark === '"' && /\\[nr]/.test(value)));
  if (!quote || value.endsWith("\\"))
    throw new Error(`${name}: a value with all three kinds of quotes, or that ends in a backslash, cannot be passed on`);
  return quote + value.replaceAll("$", "\\$") + quote;
}
