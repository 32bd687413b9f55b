/** Bodies of submissions and chats as schemas: the catalog's fields of each model, and the options of every submission. */

import * as z from "zod/mini";
import { chatOptions, taskOptions } from "../../src/api/schema/bodies.ts";
import { droppedNames } from "../../src/catalog/chat-schema.ts";
import { builtInCatalog } from "../../src/catalog/catalog.ts";
import type { Action } from "../../src/catalog/models.ts";
import { parameterSchemas } from "../support/parameters.ts";
import { fieldDescriptions } from "./fields.ts";
import { everySchema, openRequest, tidy } from "./tidy.ts";

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
  description: "Public https URL that gets the webhook when the task has ended, instead of the account's endpoint.",
};

/** `ChatRequest`, `ImageRequest`, `VideoRequest`, `RemixRequest` and their parts. */
export function submissionSchemas(): Record<string, object> {
  const { models, schemas } = parameterSchemas();
  /** The schema of each body and the names of the models that accept it. */
  const bodies = new Map<number, { name: string; action: Action; users: string[] }>();
  for (const { id, aliases } of builtInCatalog().live)
    for (const [action, index] of Object.entries(models[id] ?? {}) as [Action, number][]) {
      const name = bodies.get(index)?.name ?? names[`${action} ${id}`];
      if (name === undefined) throw new Error(`the body of ${action} ${id} has no name in scripts/openapi/submissions.ts`);
      bodies.set(index, { name, action, users: [...(bodies.get(index)?.users ?? []), id, ...aliases] });
    }
  const ofAction = (wanted: Action) => [...bodies.values()].filter(({ action }) => action === wanted);
  /** One of the bodies of an action, by its model. */
  const byModel = (wanted: Action) => {
    const of = ofAction(wanted);
    return {
      oneOf: of.map(({ name }) => ({ $ref: refTo(name) })),
      discriminator: {
        propertyName: "model",
        mapping: Object.fromEntries(of.flatMap(({ name, users }) => users.map((user) => [user, refTo(name)]))),
      },
    };
  };
  const described = Object.fromEntries(
    [...bodies].flatMap(([index, { name, action, users }]) =>
      Object.entries(toBodies(name, toBody(schemas[index] as JsonSchema, action, users), action)),
    ),
  );
  /** A body for the models of an action that the operator has added, which have names and limits of their own. */
  const other = (wanted: Action) => toOther(ofAction(wanted).map(({ name, users }) => ({ body: described[name] as JsonSchema, users })));
  for (const schema of Object.values(described)) openRequest(schema);
  return {
    ...described,
    NewVideoRequest: byModel("video"),
    OtherVideoRequest: other("video"),
    VideoRequest: either("NewVideoRequest", "OtherVideoRequest", "CharacterRequest"),
    NewRemixRequest: byModel("remix"),
    OtherRemixRequest: other("remix"),
    RemixRequest: either("NewRemixRequest", "OtherRemixRequest"),
    OwnInputRequest: ownInput(),
    TaskRequest: either("OwnInputRequest", "ImageRequest", "VideoRequest"),
    EstimateRequest: either("ChatRequest", "ImageRequest", "VideoRequest", "RemixEstimateRequest", "OwnInputRequest"),
    RemixEstimateRequest: toRemixEstimate(ofAction("remix").map(({ name }) => described[name] as JsonSchema)),
  };
}

const either = (...names: string[]) => ({ anyOf: names.map((name) => ({ $ref: refTo(name) })) });

const refTo = (name: string) => `#/components/schemas/${name}`;

/** The body of a remix of any model, with the video that it would change. */
function toRemixEstimate(remixes: JsonSchema[]): JsonSchema {
  const { properties = {}, required = [], ...rest } = structuredClone(remixes[0] ?? {});
  const names = remixes.flatMap(({ properties: of }) => of?.["model"]?.["enum"] ?? []);
  const { description } = properties["duration"] ?? {};
  return {
    ...rest,
    properties: {
      video_id: { type: "string", description: "The id of a completed video task of the same account." },
      ...properties,
      model: { type: "string", examples: names, description: properties["model"]?.["description"] },
      duration: { type: "integer", description },
    },
    required: ["video_id", ...required],
  };
}

/** What a model may take that is made `like` one of the others: their fields, without their values and limits. */
function toOther(bodies: { body: JsonSchema; users: string[] }[]): JsonSchema {
  const [first] = bodies;
  const properties = Object.assign({}, ...bodies.map(({ body }) => body.properties)) as Record<string, JsonSchema>;
  const { model, duration, size, metadata } = properties;
  const other = (field: JsonSchema | undefined, type: string) => ({ type, description: field?.["description"] });
  return {
    ...first?.body,
    description: "For a model that the operator has added: its entry in `/v1/models` has the schema.",
    properties: {
      ...properties,
      model: { ...other(model, "string"), not: { enum: bodies.flatMap(({ users }) => users) } },
      duration: other(duration, "integer"),
      size: other(size, "string"),
      ...(metadata && { metadata: { ...other(metadata, "object"), additionalProperties: true } }),
    },
  };
}

/** The body with its name; that of a character as its two forms, each with all its properties, which generators need. */
function toBodies(name: string, body: JsonSchema, action: Action): Record<string, object> {
  if (action !== "character") return { [name]: body };
  const form = (source: string, other: string) => {
    const { [other]: _, ...properties } = body.properties ?? {};
    return { ...structuredClone(body), properties: structuredClone(properties), required: [...(body.required ?? []), source] };
  };
  const forms = { CharacterFromUrl: form("url", "from_task"), CharacterFromTask: form("from_task", "url") };
  return { ...forms, [name]: either(...Object.keys(forms)) };
}

/** The body of a model with its own input; the model's entry in `/v1/models` has the schema of `input`. */
function ownInput(): JsonSchema {
  const options = z.toJSONSchema(taskOptions(), { io: "input" }) as JsonSchema;
  everySchema(options, tidy);
  return {
    type: "object",
    additionalProperties: false,
    description: "For a model with its own input. Strict: unknown fields are refused.",
    properties: {
      model: { type: "string" },
      prompt: { type: "string", description: "Stands for `input.prompt`." },
      input: {
        type: "object",
        additionalProperties: true,
        description:
          "The upstream's own input, checked by the schema in `parameters` of the model's entry. Files are public URLs, ids of files (file_...) or base64 data URIs of at most 10 MiB.",
      },
      ...options.properties,
      callback_url: callbackUrl,
      deliver_to: { $ref: "#/components/schemas/DeliverTo" },
    },
    required: ["model", "input"],
  };
}

function toBody(schema: JsonSchema, action: Action, allowed: string[]): JsonSchema {
  const options = z.toJSONSchema(action === "chat" ? chatOptions() : taskOptions(), { io: "input" }) as JsonSchema;
  const described: JsonSchema = {
    ...schema,
    properties: {
      model: {},
      ...schema.properties,
      ...(action === "chat" && Object.fromEntries(droppedNames.map((name) => [name, { description: "Accepted and ignored." }]))),
      ...options.properties,
      ...(action !== "chat" && { callback_url: callbackUrl, deliver_to: { $ref: "#/components/schemas/DeliverTo" } }),
    },
    required: ["model", ...(schema.required ?? [])],
  };
  everySchema(described, tidy);
  // The bodies of videos and remixes differ by model, which tells them apart; in the others any model of the kind can be named.
  const names = action === "video" || action === "remix" ? { enum: allowed } : { examples: allowed };
  Object.assign(described.properties?.["model"] ?? {}, { type: "string", ...names });
  describe(described, action, "");
  // The gateway hands them on unchecked; clients send back those of an answer.
  if (action === "chat") {
    const message = described.properties?.["messages"]?.["items"] as JsonSchema;
    Object.assign(message.properties?.["tool_calls"] ?? {}, { items: { $ref: refTo("ToolCall") } });
    Object.assign(message.properties ?? {}, { function_call: { $ref: refTo("CalledFunction") } });
  }
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
