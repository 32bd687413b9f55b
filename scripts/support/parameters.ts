/** The parameters of each model in `/v1/models`: JSON Schema from the catalog's schemas. */

import * as z from "zod/mini";
import { builtInCatalog } from "../../src/catalog/catalog.ts";

/** Each distinct schema once, and for each model and action the index of its schema. `model` itself is not among the properties. */
export function parameterSchemas() {
  const texts: string[] = [];
  const schemaIndex = (schema: z.ZodMiniType) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    const text = JSON.stringify(rest);
    return texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1;
  };
  const models = Object.fromEntries(
    builtInCatalog().live.map(({ id, actions }) => [
      id,
      Object.fromEntries(Object.entries(actions).map(([action, schema]) => [action, schemaIndex(schema())])),
    ]),
  );
  return { models, schemas: texts.map((text) => JSON.parse(text) as object) };
}
