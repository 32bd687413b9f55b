/** The models as `/v1/models` lists them, and one input schema for all models that a tool can name. */

import { BoundedCache } from "../../base/bounded-cache.ts";
import { sha256Hex } from "../../base/ids.ts";
import type { ApiClient, ModelEntry as Entry } from "../client.ts";

export interface Schema {
  properties?: Record<string, Schema>;
  required?: string[];
  [keyword: string]: unknown;
}

export interface ModelEntry extends Omit<Entry, "parameters" | "actions"> {
  parameters: Schema;
  actions?: { character?: Schema; remix?: Schema };
}

export type Action = "image" | "video" | "remix" | "character" | "chat";

/** Cached as long as API keys: a deleted key is refused within ten seconds, as everywhere. */
const knownMs = 10_000;
const known = new BoundedCache<{ list: List; until: number }>(1024 * 1024);
/** The newest list, shared by callers who get an equal one. */
let newest: List | undefined;

interface List {
  etag: string | null;
  models: ModelEntry[];
}

/** The models that the caller may use, or the gateway's error answer: 401 without a valid key, 429, 503. Cached for ten seconds. */
export async function readModels(client: ApiClient, authorization: string | null): Promise<ModelEntry[] | Response> {
  const key = await sha256Hex(authorization ?? "");
  const kept = known.get(key);
  if (kept && kept.until > Date.now()) return kept.list.models;
  const response = await client.send("/v1/models");
  if (!response.ok) return response;
  const etag = response.headers.get("etag");
  const { data } = await response.json<{ data: ModelEntry[] }>();
  if (!newest || newest.etag !== etag) newest = { etag, models: data };
  known.set(key, { list: newest, until: Date.now() + knownMs }, 100);
  return newest.models;
}

/** True for a model with its own input, which no other model has. */
export const hasOwnInput = ({ price_rule: rule }: ModelEntry) => rule !== undefined;

function schemaFor(model: ModelEntry, action: Action): Schema | undefined {
  if (hasOwnInput(model)) return undefined;
  if (action === "remix" || action === "character") return model.actions?.[action];
  return model.kind === action ? model.parameters : undefined;
}

/** Finds a model by its name or alias. */
export const modelNamed = (models: ModelEntry[], name: unknown) =>
  models.find(({ id, aliases }) => id === name || aliases.includes(name as string));

/**
 * The properties of an action's body for all models together. If models differ, a property has one variant for each group of models, which
 * its description names: language models ignore conditions between properties.
 */
export function mergedProperties(models: ModelEntry[], action: Action): { properties: Record<string, Schema>; required: string[] } {
  const able = models.flatMap((model) => {
    const schema = schemaFor(model, action);
    return schema ? { id: model.id, schema } : [];
  });
  const names = [...new Set(able.flatMap(({ schema }) => Object.keys(schema.properties ?? {})))].filter((name) => name !== "model");
  const properties = names.map((name) => {
    const forms = new Map<string, string[]>();
    for (const { id, schema } of able) {
      const form = schema.properties?.[name] && JSON.stringify(schema.properties[name]);
      if (form) forms.set(form, [...(forms.get(form) ?? []), id]);
    }
    const [[form, ids] = ["{}", []]] = forms;
    return [name, ids.length === able.length ? (JSON.parse(form) as Schema) : eachForm(forms)] as const;
  });
  return {
    properties: {
      model: { type: "string", enum: able.flatMap(({ schema }) => schema.properties?.["model"]?.["enum"] ?? []) },
      ...Object.fromEntries(properties),
    },
    required: names.filter((name) => able.every(({ schema }) => schema.required?.includes(name))),
  };
}

/** One property with its variants, each with the models that accept it. */
function eachForm(byText: Map<string, string[]>): Schema {
  const forms = [...byText].map(([text, models]) => {
    const { description, ...form } = JSON.parse(text) as Schema;
    return { description: `${models.join(", ")}${typeof description === "string" ? `: ${description}` : ""}`, ...form };
  });
  const [form, ...others] = forms;
  return form && others.length === 0 ? form : { anyOf: forms };
}
