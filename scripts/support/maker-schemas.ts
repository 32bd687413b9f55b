/** The JSON Schemas that makers publish of their models' inputs, as bodies of entries with an own input. */

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** Where each maker publishes the schema of a model, and how it is found in the answer. */
const makers: Record<
  string,
  { url: (model: string) => string; headers: (environment: NodeJS.ProcessEnv) => Record<string, string>; find: (answer: Json) => unknown }
> = {
  // Public, without a key (the OpenAPI link on each model's page at fal.ai).
  fal: {
    url: (model) => `https://fal.ai/api/openapi/queue/openapi.json?endpoint_id=${encodeURIComponent(model)}`,
    headers: () => ({}),
    find: findFalInput,
  },
  // `latest_version.openapi_schema` of a model (replicate.com/docs/reference/http#models.get).
  replicate: {
    url: (model) => `https://api.replicate.com/v1/models/${model}`,
    headers: ({ REPLICATE_API_TOKEN: token = "" }) => ({ authorization: `Bearer ${token}` }),
    find(answer) {
      const version = answer["latest_version"];
      const document = isObject(version) ? version["openapi_schema"] : undefined;
      return isObject(document) ? bundle(document, { $ref: "#/components/schemas/Input" }) : undefined;
    },
  },
};

/** The makers whose schemas can be fetched. */
export const makersWithSchemas = Object.keys(makers);

/** Fetches the schema of a model's input. Throws if the maker does not have it. */
export async function fetchInputSchema(
  maker: string,
  model: string,
  { ask = fetch, environment = process.env }: { ask?: typeof fetch; environment?: NodeJS.ProcessEnv } = {},
): Promise<Json> {
  const known = makers[maker];
  if (!known) throw new Error(`The schemas of ${maker} are not published: one of ${makersWithSchemas.join(", ")}.`);
  const answer = await ask(known.url(model), { headers: known.headers(environment) });
  if (!answer.ok) throw new Error(`${maker} answers ${answer.status} for the schema of ${model}.`);
  const found = known.find((await answer.json()) as Json);
  if (!isObject(found)) throw new Error(`${maker} names no input of ${model}.`);
  return found;
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
