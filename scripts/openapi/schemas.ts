/** The named schemas of the description: answers from their zod schemas, bodies of submissions from the catalog. */

import * as z from "zod/mini";
import * as account from "../../src/api/schema/account.ts";
import * as admin from "../../src/api/schema/admin.ts";
import * as bodies from "../../src/api/schema/bodies.ts";
import * as callbacks from "../../src/api/schema/callbacks.ts";
import * as chat from "../../src/api/schema/chat.ts";
import * as errors from "../../src/api/schema/errors.ts";
import * as keys from "../../src/api/schema/keys.ts";
import * as models from "../../src/api/schema/models.ts";
import * as links from "../../src/api/schema/links.ts";
import * as ready from "../../src/api/schema/ready.ts";
import * as receipts from "../../src/api/schema/receipts.ts";
import * as tasks from "../../src/api/schema/tasks.ts";
import { submissionSchemas } from "./submissions.ts";

type JsonSchema = Record<string, unknown>;

/** Every schema that an operation uses must be named here. */
const named: Record<string, z.ZodMiniType> = {
  Error: errors.errorAnswer,
  ErrorObject: errors.errorObject,
  TaskError: errors.taskErrorAnswer,
  BalanceError: errors.balanceErrorAnswer,
  Submission: tasks.submission,
  DryRun: tasks.dryRun,
  Task: tasks.taskData,
  TaskMetadata: tasks.taskMetadata,
  TaskCost: tasks.taskCost,
  TaskFailure: tasks.failure,
  ImageResult: tasks.imageResult,
  VideoResult: tasks.videoResult,
  CharacterResult: tasks.characterResult,
  TaskAnswer: tasks.taskAnswer,
  TaskList: tasks.taskList,
  VideoStatus: tasks.videoStatus,
  CharacterStatus: tasks.characterStatus,
  Receipt: receipts.receipt,
  ReceiptAnswer: receipts.receiptAnswer,
  ReceiptKeys: receipts.receiptKeys,
  ChatCompletion: chat.chatCompletion,
  ChatCompletionChunk: chat.chatChunk,
  ChatMessage: chat.chatMessage,
  ChatUsage: chat.chatUsage,
  Balance: account.balance,
  OwnKey: keys.ownKey,
  NewBrowserToken: bodies.newToken(),
  BrowserToken: keys.browserToken,
  UsageList: account.usageList,
  Character: account.character,
  CharacterList: account.characterList,
  Model: models.modelEntry,
  ModelList: models.modelList,
  TaskCallback: callbacks.taskCallback,
  TaskCompletedEvent: callbacks.completedEvent,
  TaskFailedEvent: callbacks.failedEvent,
  BudgetReachedEvent: callbacks.budgetEvent,
  TestEvent: callbacks.testEvent,
  Webhook: callbacks.webhook,
  WebhookChange: bodies.webhookChange(),
  WebhookSecret: callbacks.webhookSecret,
  WebhookTest: callbacks.webhookTest,
  Event: callbacks.event,
  EventList: callbacks.eventList,
  Links: links.linksAnswer,
  Ok: ready.okAnswer,
  NotReady: ready.notReadyAnswer,
  Status: ready.statusAnswer,
  Account: admin.account,
  AccountList: admin.accountList,
  NewAccount: bodies.newAccount(),
  AccountChange: bodies.accountChange(),
  ApiKey: keys.apiKey,
  ApiKeyList: keys.apiKeyList,
  NewApiKey: bodies.newKey(),
  ApiKeyChange: bodies.keyChange(),
  CreatedApiKey: keys.newApiKey,
  Invitation: admin.invitation,
  Audit: admin.audit,
  Reconciliation: admin.reconciliation,
};

const refTo = (name: string) => `#/components/schemas/${name}`;

/** Removes output of zod that readers do not need: the limits of whole numbers, patterns beside a format, formats of its own. */
function tidy({ jsonSchema }: { jsonSchema: JsonSchema }): void {
  for (const limit of ["minimum", "maximum"]) if (Math.abs(Number(jsonSchema[limit])) === Number.MAX_SAFE_INTEGER) delete jsonSchema[limit];
  if (jsonSchema["format"] === "date-time") delete jsonSchema["pattern"];
  if (jsonSchema["format"] === "starts_with") {
    delete jsonSchema["format"];
    jsonSchema["pattern"] = String(jsonSchema["pattern"]).replace(/\.\*$/, "");
  }
}

/** `components.schemas`. */
export function schemaComponents(): Record<string, object> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const convert = (io: "input" | "output") =>
    z.toJSONSchema(registry, { uri: refTo, unrepresentable: "any", override: tidy, io }).schemas as Record<string, JsonSchema>;
  // Answers in their output form; bodies of requests in their input form, before defaults and conversions.
  const answers = convert("output");
  const taken = convert("input");
  const requests = new Set<z.ZodMiniType>(Object.values(bodies).map((make) => make()));
  return {
    ...Object.fromEntries(
      Object.entries(named).map(([name, schema]) => {
        const { $schema: _, $id: __, ...rest } = { ...(requests.has(schema) ? taken : answers)[name] };
        return [name, rest];
      }),
    ),
    ...submissionSchemas(),
  };
}

/** A reference to a named schema. Throws for one without a name. */
export function reference(schema: z.ZodMiniType | string): { $ref: string } {
  const name = typeof schema === "string" ? schema : Object.entries(named).find(([, one]) => one === schema)?.[0];
  if (name === undefined) throw new Error("a schema has no name in scripts/openapi/schemas.ts");
  return { $ref: refTo(name) };
}

/** The properties of a query as its handler accepts them, and which are required. */
export function queryProperties(query: z.ZodMiniObject): Record<string, { schema: JsonSchema; required: boolean }> {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input", unrepresentable: "any", override: tidy });
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, { schema: schema as JsonSchema, required: required.includes(name) }]),
  );
}
