import { readFileSync } from "node:fs";
import { defineConfig } from "@hey-api/openapi-ts";

const description = readFileSync(new URL("../../src/console/site/openapi.json", import.meta.url), "utf8");
// Requests may have other fields, but a wrong one is more likely a mistake: the types do not allow them.
const input = JSON.parse(description, (_, value: unknown) => {
  if (
    typeof value === "object" &&
    value !== null &&
    "properties" in value &&
    "additionalProperties" in value &&
    value.additionalProperties === true
  )
    return { ...value, additionalProperties: undefined };
  return value;
}) as Record<string, unknown>;

export default defineConfig({
  input,
  output: { path: "src/generated", module: { extension: ".js" } },
  plugins: ["@hey-api/typescript"],
});
