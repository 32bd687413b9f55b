/**
 * Aliases: names of retired models or of other makers' models, each mapped to a model of the gateway: `[vars.ALIASES]` merged over
 * `aliases.json`.
 */

import { modelNamed } from "../catalog/models.ts";
import { VariableError } from "../variables.ts";
import defaults from "./aliases.json";

type Aliases = Record<string, string>;

/** A requested model name, resolved. */
export interface NamedModel {
  /** The name in answers. */
  asked: string;
  /** The model name that is sent to the gateway; an unknown name is sent unchanged, and the gateway refuses it. */
  model: string;
  isAlias: boolean;
}

const tables = new WeakMap<object, Aliases>();

/** The configured aliases. Throws `VariableError`. An entry with an empty value removes a default. */
function aliases(env: OpenAiBindings): Aliases {
  let found = tables.get(env);
  if (!found) tables.set(env, (found = { ...defaults, ...parse(env.ALIASES) }));
  return found;
}

/** A table in wrangler.toml is already parsed; from an environment file it is text. */
function parse(value: unknown): Aliases {
  if (value === undefined || value === "") return {};
  let table: unknown = value;
  try {
    if (typeof value === "string") table = JSON.parse(value);
  } catch {
    table = undefined;
  }
  const isTable = typeof table === "object" && table !== null && !Array.isArray(table);
  const names = isTable ? Object.values(table as object) : [undefined];
  if (!names.every((name) => name === "" || (typeof name === "string" && modelNamed(name))))
    throw new VariableError("ALIASES", "must be a table of names, each with the name of one of the gateway's models, or empty");
  return table as Aliases;
}

/** All aliases. */
export const aliasNames = (env: OpenAiBindings): string[] =>
  Object.entries(aliases(env)).flatMap(([name, model]) => (model === "" ? [] : name));

/** Resolves a name. A name with a date at its end (`sora-2-2025-10-06`) is resolved like the name without it. */
export function resolveModel(env: OpenAiBindings, asked: string): NamedModel {
  const table = aliases(env);
  const find = (name: string) => (Object.hasOwn(table, name) ? table[name] : undefined);
  const model = find(asked) ?? find(asked.replace(/-\d{4}-\d{2}-\d{2}$/, ""));
  return model ? { asked, model, isAlias: true } : { asked, model: asked, isAlias: false };
}
