/**
 * Aliases: names of retired models or of other makers' models, each mapped to a model of the gateway: `[vars.ALIASES]` merged over
 * `aliases.json`. A name with one `*` is a rule: it maps all names of this form that have no alias of their own and are no model's.
 */

import { isFields } from "./form.ts";
import type { AppEnv } from "./context.ts";
import { builtInCatalog } from "../../catalog/catalog.ts";
import { VariableError } from "../../base/variables.ts";
import defaults from "./aliases.json" with { type: "json" };

type Aliases = Record<string, string>;
type Bindings = OpenAiBindings & Pick<AppEnv["Bindings"], "MODELS">;

/** A requested model name, resolved. */
export interface NamedModel {
  /** The name in answers. */
  asked: string;
  /** The model name that is sent to the gateway; an unknown name is sent unchanged, and the gateway refuses it. */
  model: string;
  isAlias: boolean;
}

const tables = new WeakMap<object, { own: Aliases; all: Aliases }>();

/** True if the gateway has a model of this name. The previous release of the gateway does not send its names. */
const isModel = ({ MODELS }: Bindings, name: string) => MODELS?.includes(name) ?? builtInCatalog().named(name) !== undefined;

const isRule = (name: string) => name.includes("*");

/** The operator's aliases and rules, and all. Throws `VariableError`. An entry with an empty value removes a default. */
function aliases(env: Bindings): { own: Aliases; all: Aliases } {
  let found = tables.get(env);
  if (!found) {
    const own = parse(env);
    tables.set(env, (found = { own, all: { ...defaults, ...own } }));
  }
  return found;
}

/** A table in wrangler.toml is already parsed; from an environment file it is text. */
function parse(env: Bindings): Aliases {
  const value = env.ALIASES;
  if (value === undefined || value === "") return {};
  let table: unknown = value;
  try {
    if (typeof value === "string") table = JSON.parse(value);
  } catch {
    table = undefined;
  }
  const entries = isFields(table) ? Object.entries(table) : [["", undefined] as const];
  if (!entries.every(([name, model]) => name.split("*").length <= 2 && typeof model === "string"))
    throw new VariableError(
      "ALIASES",
      "must be a table of names with at most one *, each with the name of one of the gateway's models, or empty",
    );
  return table as Aliases;
}

/** All aliases that lead to a model; the names of a rule are without number. */
export const aliasNames = (env: Bindings): string[] =>
  Object.entries(aliases(env).all).flatMap(([name, model]) => (isModel(env, model) && !isRule(name) ? name : []));

/**
 * Resolves a name: by the operator's alias, as a model of the gateway, by an alias of `aliases.json`, then by the longest rule. A name with
 * a date at its end (`sora-2-2025-10-06`) is resolved like the name without it. Throws `VariableError` for an alias of a model that the
 * gateway does not have, maybe because the operator took it out: other names go on.
 */
export function resolveModel(env: Bindings, asked: string): NamedModel {
  const { own, all } = aliases(env);
  const undated = asked.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  const find = (name: string) =>
    Object.hasOwn(own, name) ? own[name] : isModel(env, name) ? name : Object.hasOwn(all, name) ? all[name] : undefined;
  const model = (find(asked) ?? find(undated) ?? findByRule(all, undated)) || asked;
  if (model !== asked && !isModel(env, model))
    throw new VariableError("ALIASES", `names the model ${model}, which the gateway does not have`);
  return { asked, model, isAlias: model !== asked };
}

/** The longest rule is the most specific one. */
function findByRule(table: Aliases, name: string): string | undefined {
  const rules = Object.keys(table).filter((rule) => isRule(rule) && fits(name, rule));
  const [longest] = rules.sort((one, other) => other.length - one.length);
  return longest === undefined ? undefined : table[longest];
}

function fits(name: string, rule: string): boolean {
  const [start = "", end = ""] = rule.split("*");
  return name.length > start.length + end.length && name.startsWith(start) && name.endsWith(end);
}
