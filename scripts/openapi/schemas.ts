/** The named schemas of the description: answers from their zod schemas, bodies of submissions from the catalog. */

import * as z from "zod/mini";
import * as account from "../../src/api/schema/account.ts";
import * as admin from "../../src/api/schema/admin.ts";
import * as batches from "../../src/api/schema/batches.ts";
import * as bodies from "../../src/api/schema/bodies.ts";
import * as callbacks from "../../src/api/schema/callbacks.ts";
import * as chat from "../../src/api/schema/chat.ts";
import * as auditLog from "../../src/api/schema/audit-log.ts";
import * as destinations from "../../src/api/schema/destinations.ts";
import * as errors from "../../src/api/schema/errors.ts";
import * as keys from "../../src/api/schema/keys.ts";
import * as models from "../../src/api/schema/models.ts";
import * as files from "../../src/api/schema/files.ts";
import { entryFields } from "../../src/catalog/entries.ts";
import * as links from "../../src/api/schema/links.ts";
import * as payments from "../../src/api/schema/payments.ts";
import * as ready from "../../src/api/schema/ready.ts";
import * as receipts from "../../src/api/schema/receipts.ts";
import * as tasks from "../../src/api/schema/tasks.ts";
import { nameParts } from "./parts.ts";
import { requestTexts } from "./request-texts.ts";
import { submissionSchemas } from "./submissions.ts";
import { type JsonSchema, openRequest, tidy } from "./tidy.ts";

/** Schemas with another name than in the code: generated clients have these names. */
const renamed: Record<string, z.ZodMiniType> = {
  Submission: tasks.awaitedSubmission,
  Task: tasks.taskData,
  TaskFailure: tasks.failure,
  ChatCompletionChunk: chat.chatChunk,
  NewClientToken: bodies.newToken(),
  SavedCharacter: account.character,
  Model: models.modelEntry,
  StoredFile: files.file,
  EndEvent: callbacks.event,
  Status: ready.statusAnswer,
  NewApiKey: bodies.newKey(),
  ApiKeyChange: bodies.keyChange(),
  CreatedApiKey: keys.newApiKey,
  SoldModelList: admin.soldModels,
  MarginList: admin.margins,
  ModelEntryFields: entryFields(),
};

/** Only others are made of them. */
const unnamed = new Set<unknown>([tasks.submission, callbacks.taskEvent, errors.violation, bodies.taskOptions, bodies.chatOptions]);

const rooms = [
  errors,
  tasks,
  destinations,
  receipts,
  chat,
  account,
  keys,
  models,
  files,
  batches,
  callbacks,
  auditLog,
  payments,
  links,
  ready,
  admin,
  bodies,
];

/** Every schema of an answer or a body by its name: that of its export, with a capital. */
const named: Record<string, z.ZodMiniType> = { ...renamed };
for (const room of rooms)
  for (const [name, exported] of Object.entries(room)) {
    const schema: unknown = typeof exported === "function" && !unnamed.has(exported) ? exported() : exported;
    if (!(schema instanceof z.ZodMiniObject) || unnamed.has(schema) || Object.values(renamed).includes(schema)) continue;
    const capital = name.charAt(0).toUpperCase() + name.slice(1);
    if (capital in named) throw new Error(`two schemas are called ${capital}: scripts/openapi/schemas.ts needs another name for one`);
    named[capital] = schema;
  }

const inOrder = Object.entries(named).sort(([one], [other]) => (one < other ? -1 : 1));

const refTo = (name: string) => `#/components/schemas/${name}`;

const override = ({ jsonSchema }: { jsonSchema: JsonSchema }) => tidy(jsonSchema);

/** `components.schemas`. */
export function schemaComponents(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of inOrder) registry.add(schema, { id });
  const convert = (io: "input" | "output") =>
    z.toJSONSchema(registry, { uri: refTo, unrepresentable: "any", override, io }).schemas as Record<string, JsonSchema>;
  // Answers in their output form; bodies of requests in their input form, before defaults and conversions.
  const answers = convert("output");
  const taken = convert("input");
  const requests = new Set<z.ZodMiniType>([...Object.values(bodies), entryFields].map((make) => make()));
  return nameParts({
    ...Object.fromEntries(
      inOrder.map(([name, schema]) => {
        const isRequest = requests.has(schema);
        const { $schema: _, $id: __, ...rest } = { ...(isRequest ? taken : answers)[name] };
        if (isRequest) openRequest(rest);
        addTexts(name, rest);
        return [name, rest];
      }),
    ),
    ...submissionSchemas(),
  });
}

function addTexts(name: string, schema: { properties?: Record<string, JsonSchema> }): void {
  for (const [field, description] of Object.entries(requestTexts[name] ?? {})) {
    const property = field === "" ? (schema as JsonSchema) : schema.properties?.[field];
    if (!property) throw new Error(`scripts/openapi/request-texts.ts: ${name} has no field ${field}`);
    property["description"] = description;
  }
}

/** A reference to a named schema. Throws for one without a name. */
export function reference(schema: z.ZodMiniType | string): { $ref: string } {
  const name = typeof schema === "string" ? schema : Object.entries(named).find(([, one]) => one === schema)?.[0];
  if (name === undefined) throw new Error("a schema has no name in scripts/openapi/schemas.ts");
  return { $ref: refTo(name) };
}

/** The words `true` and `false` of a query are a boolean. */
const toBoolean = (schema: JsonSchema): JsonSchema => {
  const { enum: words, ...rest } = schema;
  return Array.isArray(words) && words.join() === "true,false" ? { ...rest, type: "boolean" } : schema;
};

/** The properties of a query as its handler accepts them, and which are required. */
export function queryProperties(query: z.ZodMiniObject): Record<string, { schema: JsonSchema; required: boolean }> {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input", unrepresentable: "any", override });
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { schema: toBoolean(schema as JsonSchema), required: required.includes(name) },
    ]),
  );
}
