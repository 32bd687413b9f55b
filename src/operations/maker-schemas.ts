/** The JSON Schemas that makers publish of their models' inputs, as bodies of entries with an own input. */

import { isObject } from "../base/is-object.ts";
import { readAll } from "../net/bounded-body.ts";

type Json = Record<string, unknown>;

/** The variables that the requests need: those of the providers. */
export interface MakerSettings {
  REPLICATE_API_TOKEN?: string | undefined;
  REPLICATE_BASE_URL?: string | undefined;
  WORKERS_AI_ACCOUNT_ID?: string | undefined;
  WORKERS_AI_API_TOKEN?: string | undefined;
  WORKERS_AI_BASE_URL?: string | undefined;
}

interface Maker {
  /** The form of its models' ids. */
  id: RegExp;
  /** The secrets that it needs. */
  needs: readonly (keyof MakerSettings)[];
  url: (model: string, settings: MakerSettings) => string;
  headers: (settings: MakerSettings) => Record<string, string>;
  /** Finds the schema in the answer. */
  find: (answer: Json) => unknown;
}

const part = "[A-Za-z0-9_][A-Za-z0-9._-]*";
const bearer = (token = "") => ({ authorization: `Bearer ${token}` });

/** Where each maker publishes the schema of a model. */
const makers: Record<string, Maker> = {
  // Public, without a key (the OpenAPI link on each model's page at fal.ai).
  fal: {
    id: new RegExp(`^${part}(?:/${part}){1,7}$`),
    needs: [],
    url: (model) => `https://fal.ai/api/openapi/queue/openapi.json?endpoint_id=${encodeURIComponent(model)}`,
    headers: () => ({}),
    find: findFalInput,
  },
  // `latest_version.openapi_schema` of a model (replicate.com/docs/reference/http#models.get).
  replicate: {
    id: new RegExp(`^${part}/${part}$`),
    needs: ["REPLICATE_API_TOKEN"],
    url: (model, { REPLICATE_BASE_URL: base = "https://api.replicate.com/v1" }) => `${base}/models/${model}`,
    headers: ({ REPLICATE_API_TOKEN: token }) => bearer(token),
    find(answer) {
      const version = answer["latest_version"];
      const document = isObject(version) ? version["openapi_schema"] : undefined;
      return isObject(document) ? bundle(document, { $ref: "#/components/schemas/Input" }) : undefined;
    },
  },
  // `result.input` (developers.cloudflare.com/api/resources/ai/subresources/models/subresources/schema/methods/get).
  cloudflare: {
    id: new RegExp(`^@?${part}(?:/${part}){1,3}$`),
    needs: ["WORKERS_AI_ACCOUNT_ID", "WORKERS_AI_API_TOKEN"],
    url: (model, { WORKERS_AI_ACCOUNT_ID: account = "", WORKERS_AI_BASE_URL: base = "https://api.cloudflare.com/client/v4" }) =>
      `${base}/accounts/${encodeURIComponent(account)}/ai/models/schema?model=${encodeURIComponent(model)}`,
    headers: ({ WORKERS_AI_API_TOKEN: token }) => bearer(token),
    find(answer) {
      const { result } = answer;
      return isObject(result) ? withoutDialect(result["input"]) : undefined;
    },
  },
};

/** The makers whose schemas can be fetched. */
export const makersWithSchemas: readonly string[] = Object.keys(makers);

/** Why a schema cannot be fetched. */
export type SchemaFault =
  /** `maker` is none of `makersWithSchemas`. */
  | { as: "unknown_maker" }
  /** The secret of the maker is not set. */
  | { as: "no_secret"; variable: string }
  | { as: "bad_id" }
  /** The maker does not have the model, or names no input of it. */
  | { as: "no_schema" }
  /** The maker refused or did not answer; `status` is 0 without an answer. */
  | { as: "no_answer"; status: number };

const maxBytes = 2_000_000;
const timeoutMs = 15_000;

/** Fetches the schema of a model's input. Redirects are not followed, because another host must not get the key. */
export async function fetchInputSchema(
  maker: string,
  model: string,
  { ask = fetch, settings }: { ask?: typeof fetch; settings: MakerSettings },
): Promise<{ schema: Json } | SchemaFault> {
  const known = Object.hasOwn(makers, maker) ? makers[maker] : undefined;
  if (!known) return { as: "unknown_maker" };
  if (!known.id.test(model) || model.length > 200) return { as: "bad_id" };
  const missing = known.needs.find((variable) => !settings[variable]);
  if (missing) return { as: "no_secret", variable: missing };
  let answer: unknown;
  try {
    const init: RequestInit = { headers: known.headers(settings), redirect: "manual", signal: AbortSignal.timeout(timeoutMs) };
    const response = await ask(known.url(model, settings), init);
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      return [400, 404, 422].includes(response.status) ? { as: "no_schema" } : { as: "no_answer", status: response.status };
    }
    answer = JSON.parse(new TextDecoder().decode(await readAll(response.body, maxBytes)));
  } catch {
    return { as: "no_answer", status: 0 };
  }
  const found = isObject(answer) ? known.find(answer) : undefined;
  return isObject(found) && isObject(found["properties"]) ? { schema: found } : { as: "no_schema" };
}

/** What a model probably makes, by the name that its maker gave it. */
const guessKind = (model: string) =>
  /video|veo|kling|wan-|seedance|hailuo/i.test(model) ? "video" : /tts|speech|music|audio|voice|3d/i.test(model) ? "file" : "image";

/** A new model's id, and its entry. */
export interface DraftEntry {
  id: string;
  entry: Json;
}

/** The draft of an entry with the schema: without a price, so that it is refused until it has one, and hidden. */
export function toDraftEntry(
  maker: string,
  model: string,
  schema: Json,
  given: { id?: string | undefined; kind?: string | undefined } = {},
): DraftEntry {
  const id =
    given.id ??
    model
      .split("/")
      .slice(1)
      .join("-")
      .replaceAll(/[^\w.-]/g, "-")
      .slice(0, 64);
  return {
    id,
    entry: { kind: given.kind ?? guessKind(model), body: schema, price: {}, state: "hidden", routes: [{ provider: maker, model }] },
  };
}

/** A schema without the line that names its dialect. */
function withoutDialect(schema: unknown): Json | undefined {
  if (!isObject(schema)) return undefined;
  const { $schema: _, ...rest } = schema;
  return rest;
}

/** The body of the path that takes POST; the queue's other paths are read only. */
function findFalInput(document: Json): unknown {
  const paths = isObject(document["paths"]) ? Object.values(document["paths"]) : [];
  for (const path of paths) {
    const post = isObject(path) ? path["post"] : undefined;
    const body = isObject(post) ? post["requestBody"] : undefined;
    const content = isObject(body) ? body["content"] : undefined;
    const json = isObject(content) ? content["application/json"] : undefined;
    if (isObject(json) && isObject(json["schema"])) return bundle(document, json["schema"]);
  }
  return undefined;
}

const prefix = "#/components/schemas/";

/** A schema of an OpenAPI document with everything that it refers to in `$defs`, so that it stands by itself. */
function bundle(document: Json, schema: Json): Json | undefined {
  const components = isObject(document["components"]) ? document["components"] : {};
  const all = isObject(components["schemas"]) ? components["schemas"] : {};
  const defs: Json = {};
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (!isObject(value)) return value;
    const { $ref: ref } = value;
    if (typeof ref !== "string" || !ref.startsWith(prefix))
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, rewrite(item)]));
    const name = ref.slice(prefix.length);
    if (!(name in defs)) {
      defs[name] = true;
      defs[name] = rewrite(all[name] ?? true);
    }
    const { $ref: _, ...beside } = value;
    return { $ref: `#/$defs/${name}`, ...(rewrite(beside) as Json) };
  };
  const { $ref: ref } = schema;
  const root = rewrite(typeof ref === "string" ? all[ref.slice(prefix.length)] : schema);
  return isObject(root) ? { ...root, ...(Object.keys(defs).length > 0 && { $defs: defs }) } : undefined;
}
