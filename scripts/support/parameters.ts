/** What `/v1/models` says of each model's parameters: JSON Schema out of the catalog's schemas. */

import * as z from "zod/mini";
import { allModels } from "../../src/catalog/models.ts";

/** Each different schema once, and for each model and action which one it is. `model` itself is not among the properties. */
export function parameterSchemas() {
  const texts: string[] = [];
  const indexOf = (schema: z.ZodMiniType) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
    const text = JSON.stringify(rest);
    return texts.includes(text) ? texts.indexOf(text) : texts.push(text) - 1;
  };
  const models = Object.fromEntries(
    allModels().map(({ id, actions }) => [
      id,
      Object.fromEntries(Object.entries(actions).map(([action, schema]) => [action, indexOf(schema)])),
    ]),
  );
  return { models, schemas: texts.map((text) => JSON.parse(text) as object) };
}
