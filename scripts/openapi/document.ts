/** Generates the API description in OpenAPI 3.1 from the definitions in `operations/`. */

import type { ErrorCode } from "../../src/errors.ts";
import type { Answer, Examples, Media, Operation, Operations } from "./definition.ts";
import { envelopes, type Family, explain, failureExamples, failureHeaders, failuresByStatus, pathFamily } from "./failures.ts";
import { type HeaderName, headers } from "./headers.ts";
import { headerParameters, pathParameters, queryParameters } from "./parameters.ts";
import { queryProperties, reference, schemaComponents } from "./schemas.ts";
import { account } from "./operations/account.ts";
import { admin } from "./operations/admin.ts";
import { callbacks } from "./operations/callbacks.ts";
import { chat } from "./operations/chat.ts";
import { generations } from "./operations/generations.ts";
import { keys } from "./operations/keys.ts";
import { receipts } from "./operations/receipts.ts";
import { service } from "./operations/service.ts";
import { tasks } from "./operations/tasks.ts";
import { info, securitySchemes, servers } from "./about.ts";
import { tags } from "./tags.ts";
import { webhooks } from "./webhooks.ts";

const operations: Operations = { ...generations, ...chat, ...tasks, ...receipts, ...account, ...keys, ...callbacks, ...service, ...admin };

const security = {
  key: [{ apiKey: [] }],
  token: [{ apiKey: [] }, { browserToken: [] }],
  admin: [{ adminToken: [] }],
  none: [],
};

/** The whole document. */
export function describeApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const responses: Responses = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = "", path = ""] = name.split(" ");
    (paths[path] ??= {})[method.toLowerCase()] = describeOperation(path, operation, responses);
  }
  return {
    openapi: "3.1.1",
    info: { ...info, version },
    servers,
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: webhooks(),
    components: { schemas: schemaComponents(), responses, headers, securitySchemes },
  };
}

/** `components.responses`: the errors that many operations share. */
type Responses = Record<string, object>;

function describeOperation(path: string, operation: Operation, shared: Responses): object {
  const { id, tag, summary, description, body, answers } = operation;
  const family = pathFamily(path);
  const responses: Record<string, object> = Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => [status, describeAnswer(answer, family, operation)]),
  );
  for (const [status, codes] of failuresByStatus(family, operation)) {
    const failure = describeFailure(family, status, codes, operation);
    const name = sharedName(family, codes, operation);
    if (name !== undefined) shared[name] = failure;
    responses[status] ??= name === undefined ? failure : { $ref: `#/components/responses/${name}` };
  }
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: security[operation.security ?? "key"],
    parameters: [...parametersOfPath(path), ...parametersOfQuery(family, operation), ...parametersInHeaders(operation)],
    ...(body && { requestBody: describeBody(body) }),
    responses,
  };
}

/** The component name of an error that is the same in all operations; undefined if it depends on the operation. */
function sharedName(family: Family, codes: ErrorCode[], { security: needed = "key" }: Operation): string | undefined {
  const [code, ...others] = codes;
  if (others.length > 0 || code === undefined || code === "invalid_request") return undefined;
  const group = { key: "", token: "", admin: "Admin", none: "Public" }[needed];
  const envelope = { common: "", tasks: "Task", balance: "Balance" }[family];
  return (
    group +
    envelope +
    code.replace(family === "tasks" ? /^task/ : "", "").replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
  );
}

const parametersOfPath = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
    const parameter = pathParameters[name];
    if (!parameter) throw new Error(`{${name}} has no description in scripts/openapi/parameters.ts`);
    return { name, in: "path", required: true, ...parameter };
  });

function parametersOfQuery(family: Family, { query }: Operation) {
  const language = { language: { schema: { type: "string", enum: ["en", "zh", "ko", "ja"] }, required: false } };
  // The four messages of balances are the same in every language.
  const all = { ...(query && queryProperties(query)), ...(family !== "balance" && language) };
  return Object.entries(all).map(([name, { schema, required }]) => {
    const described = queryParameters[name];
    if (!described) throw new Error(`?${name}= has no description in scripts/openapi/parameters.ts`);
    return { name, in: "query", required, ...described, schema };
  });
}

const parametersInHeaders = ({ headers: names = [] }: Operation) =>
  names.map((name) => ({ name, in: "header", required: false, ...headerParameters[name] }));

function describeBody(body: Media | "none"): object {
  if (body !== "none") return { required: true, content: { "application/json": describeMedia(body) } };
  const empty = { schema: { type: "object", description: "No fields." }, examples: { empty: { value: {} } } };
  return { required: false, description: "Not needed.", content: { "application/json": empty } };
}

function describeMedia({ schema, examples }: Media): object {
  const one = Array.isArray(schema) ? { anyOf: schema.map(reference) } : schema && reference(schema);
  return { ...(one && { schema: one }), ...(examples && { examples: toExamples(examples) }) };
}

const toExamples = (examples: Examples) => Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]));

const refersTo = (names: Iterable<HeaderName>) =>
  Object.fromEntries([...new Set(names)].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of every answer of the operation. */
const commonHeaders = ({ security: needed = "key" }: Operation): HeaderName[] => [
  "x-request-id",
  ...(needed === "key" || needed === "token" ? (["x-ratelimit-limit-requests"] as const) : []),
];

function describeAnswer({ description, headers: own = [], content }: Answer, family: Family, operation: Operation): object {
  const speaks =
    family !== "balance" &&
    operation.security !== "none" &&
    content?.["application/json"] !== undefined &&
    !content["text/event-stream"] &&
    !content["text/csv"];
  return {
    description,
    headers: refersTo([...commonHeaders(operation), ...(speaks ? (["content-language", "vary"] as const) : []), ...own]),
    ...(content && { content: Object.fromEntries(Object.entries(content).map(([type, media]) => [type, describeMedia(media)])) }),
  };
}

function describeFailure(family: Family, status: number, codes: ErrorCode[], operation: Operation): object {
  const examples: Examples = Object.assign({}, ...codes.map((code) => failureExamples(family, code, status, operation.violation)));
  return {
    description: codes.map((code) => (family === "balance" ? explain(family, code) : `\`${code}\`: ${explain(family, code)}`)).join("\n\n"),
    headers: refersTo([...commonHeaders(operation), ...failureHeaders(status, family)]),
    content: { "application/json": describeMedia({ schema: envelopes[family], examples: examples }) },
    // Lists the error codes of this status, for programs and for the tests.
    ...(family !== "balance" && { "x-error-codes": codes }),
  };
}
