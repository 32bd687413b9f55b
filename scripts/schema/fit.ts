/** Adapts the description for schemathesis. Its requests are narrowed; of answers only the notation of streams differs. */

interface Node {
  [name: string]: unknown;
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** Changes every object of a value, outermost first. */
function walk(value: unknown, change: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) walk(item, change);
  if (!isNode(value)) return;
  change(value);
  for (const item of Object.values(value)) walk(item, change);
}

/** URLs that no request reaches: the top-level domain is reserved. */
const nowhere = ["https://files.example/a", "https://files.example/b"];

interface Events {
  type?: string;
  id?: string;
  end?: string;
}

/** An event whose data is JSON of this schema, or the end of the stream. */
function wholeEvent(schema: unknown, { type, id, end }: Events): Node {
  const json = { type: "string", contentMediaType: "application/json", contentSchema: schema };
  return {
    type: "object",
    properties: {
      ...(type !== undefined && { event: { const: type } }),
      ...(id !== undefined && { id: { type: "string" } }),
      data: end === undefined ? json : { anyOf: [json, { const: end }] },
    },
    required: [...(type === undefined ? [] : ["event"]), ...(id === undefined ? [] : ["id"]), "data"],
  };
}

/** A copy of the description for fuzzing. */
export function fitForFuzzing(document: unknown): unknown {
  const copy = structuredClone(document) as { paths: Node; components: { schemas: Record<string, Node> } };
  // Asks a maker on the internet for its schema.
  delete copy.paths["/admin/model_drafts"];
  walk(copy.paths, (node) => {
    // Waiting would use up the time of the run.
    if (node["name"] === "wait" && isNode(node["schema"])) Object.assign(node, { example: 1, schema: { ...node["schema"], maximum: 1 } });
  });
  // Schemathesis reads the schema of a stream as that of whole events, as OpenAPI 3.2 has it.
  walk(copy.paths, (node) => {
    const stream = node["text/event-stream"];
    if (isNode(stream) && stream["schema"] !== undefined) stream["schema"] = wholeEvent(stream["schema"], stream["x-events"] as Events);
  });
  // The gateway would call or fetch generated URLs, and some of them exist.
  for (const [name, schema] of Object.entries(copy.components.schemas))
    if (name.endsWith("Request")) walk(schema, (node) => node["format"] === "uri" && Object.assign(node, { enum: nowhere }));
  return copy;
}
