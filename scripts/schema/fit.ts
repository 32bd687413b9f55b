/** Adapts the description for schemathesis. Only its requests are narrowed; the answers' schemas are unchanged. */

interface Node {
  [name: string]: unknown;
}
const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

/** Changes every object of a value, outermost first. */
function walk(value: unknown, change: (node: Node, name: string) => void, name = ""): void {
  if (Array.isArray(value)) for (const item of value) walk(item, change, name);
  if (!isNode(value)) return;
  change(value, name);
  for (const [key, item] of Object.entries(value)) walk(item, change, key);
}

/** URLs that no request reaches: the top-level domain is reserved. */
const nowhere = ["https://files.example/a", "https://files.example/b"];

/** A copy of the description for fuzzing. */
export function fitForFuzzing(document: unknown): unknown {
  const copy = structuredClone(document) as { paths: Node; components: { schemas: Record<string, Node> } };
  walk(copy.paths, (node, name) => {
    // It validates schemas against whole events, whose data is JSON as a string; the last event of a chat is not JSON.
    if (name === "text/event-stream" && isNode(node["schema"]))
      node["schema"] = {
        type: "object",
        required: ["data"],
        properties: { data: { anyOf: [{ const: "[DONE]" }, { contentMediaType: "application/json", contentSchema: node["schema"] }] } },
      };
    // Waiting would use up the time of the run.
    if (node["name"] === "wait" && isNode(node["schema"])) Object.assign(node, { example: 1, schema: { ...node["schema"], maximum: 1 } });
  });
  // The gateway would call or fetch generated URLs, and some of them exist.
  for (const [name, schema] of Object.entries(copy.components.schemas))
    if (name.endsWith("Request")) walk(schema, (node) => node["format"] === "uri" && Object.assign(node, { enum: nowhere }));
  return copy;
}
