/** Bodies of submissions and chats as schemas: the catalog's fields of each model, and the options of every submission. */

import * as z from "zod/mini";
import { chatOptions, taskOptions } from "../../src/api/schema/bodies.ts";
import { droppedNames } from "../../src/catalog/chat-schema.ts";
import { type Action, allModels } from "../../src/catalog/models.ts";
import { parameterSchemas } from "../support/parameters.ts";
import { fieldDescriptions } from "./fields.ts";

type JsonSchema = Record<string, unknown> & { properties?: Record<string, JsonSchema>; required?: string[] };

/** The names of schemas that several models share, by action and the first of the models. */
const names: Record<string, string> = {
  "chat textA-1": "ChatRequest",
  "image imgA-4": "ImageRequest",
  "video vidA-2": "VidA2Request",
  "video vidA-2-pro": "VidA2ProRequest",
  "video vidB-3.1-fast": "VidBRequest",
  "video vidC-1-0-pro-fast": "VidCRequest",
  "video vidD-02": "VidDRequest",
  "character vidA-2": "CharacterRequest",
  "remix vidA-2": "VidA2RemixRequest",
  "remix vidA-2-pro": "VidA2ProRemixRequest",
};

const callbackUrl = {
  type: "string",
  format: "uri",
  description: "Public https URL that gets the callback when the task has ended, instead of the account's endpoint.",
};

/** `ChatRequest`, `ImageRequest`, `VideoRequest`, `RemixRequest` and their parts. */
export function submissionSchemas(): Record<string, object> {
  const { models, schemas } = parameterSchemas();
  /** The schema of each body and the names of the models that accept it. */
  const bodies = new Map<number, { name: string; action: Action; users: string[] }>();
  for (const { id, aliases = [] } of allModels())
    for (const [action, index] of Object.entries(models[id] ?? {}) as [Action, number][]) {
      const name = bodies.get(index)?.name ?? names[`${action} ${id}`];
      if (name === undefined) throw new Error(`the body of ${action} ${id} has no name in scripts/openapi/submissions.ts`);
      bodies.set(index, { name, action, users: [...(bodies.get(index)?.users ?? []), id, ...aliases] });
    }
  const either = (...actions: Action[]) => ({
    anyOf: actions.flatMap((wanted) =>
      [...bodies.values()].filter(({ action }) => action === wanted).map(({ name }) => ({ $ref: `#/components/schemas/${name}` })),
    ),
  });
  return {
    ...Object.fromEntries(
      [...bodies].map(([index, { name, action, users }]) => [name, toBody(schemas[index] as JsonSchema, action, users)]),
    ),
    VideoRequest: either("video", "character"),
    RemixRequest: either("remix"),
  };
}

function toBody(schema: JsonSchema, action: Action, allowed: string[]): JsonSchema {
  const options = z.toJSONSchema(action === "chat" ? chatOptions() : taskOptions(), { io: "input" }) as JsonSchema;
  const described: JsonSchema = {
    ...schema,
    properties: {
      model: { type: "string", enum: allowed },
      ...schema.properties,
      ...(action === "chat" && Object.fromEntries(droppedNames.map((name) => [name, { description: "Accepted and ignored." }]))),
      ...options.properties,
      ...(action !== "chat" && { callback_url: callbackUrl }),
    },
    required: ["model", ...(schema.required ?? [])],
    ...(action === "character" && { oneOf: [{ required: ["url"] }, { required: ["from_task"] }] }),
    ...(action === "video" && schema.properties?.["image_with_roles"] && { not: { required: ["images", "image_with_roles"] } }),
  };
  describe(described, action, "");
  return described;
}

/** Adds descriptions to the fields that have none: those for this action first. */
function describe({ properties = {} }: JsonSchema, action: Action, parent: string): void {
  for (const [name, field] of Object.entries(properties)) {
    const text = fieldDescriptions[`${action} ${parent}${name}`] ?? fieldDescriptions[parent + name];
    if (text !== undefined) field["description"] ??= text;
    describe(field, action, `${name}.`);
  }
}
