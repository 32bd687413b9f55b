/** Names of retired or other makers' models, and the gateway's models that stand for them: `[vars.ALIASES]` over `aliases.json`. */

import { modelNamed } from "../catalog/models.ts";
import { VariableError } from "../variables.ts";
import defaults from "./aliases.json";

type Aliases = Record<string, string>;

/** A model by the name that it was asked for by. */
export interface NamedModel {
  /** Shown in answers. */
  asked: string;
  /** What the gateway is asked for: its own name, or the unknown one as it is, which the gateway refuses. */
  model: string;
  isAlias: boolean;
}

const tables = new WeakMap<object, Aliases>();

/** The aliases in force. Throws `VariableError`. An entry with an empty name takes a default away. */
function aliases(env: OpenAiBindings): Aliases {
  let found = tables.get(env);
  if (!found) tables.set(env, (found = { ...defaults, ...parse(env.ALIASES) }));
  return found;
}

/** A table of wrangler.toml is already parsed, one from an environment file is text. */
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

/** Every name that stands for a model of the gateway's. */
export const aliasNames = (env: OpenAiBindings): string[] =>
  Object.entries(aliases(env)).flatMap(([name, model]) => (model === "" ? [] : name));

/** Resolves a name; one with a date at its end (`sora-2-2025-10-06`) is that of the name without it. */
export function resolveModel(env: OpenAiBindings, asked: string): NamedModel {
  const table = aliases(env);
  const find = (name: string) => (Object.hasOwn(table, name) ? table[name] : undefined);
  const model = find(asked) ?? find(asked.replace(/-\d{4}-\d{2}-\d{2}$/, ""));
  return model ? { asked, model, isAlias: true } : { asked, model: asked, isAlias: false };
}
