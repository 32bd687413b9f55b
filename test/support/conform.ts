/**
 * Checks each answer that a test receives against the API description. A status, media type, header, field or path that is not documented
 * fails the test.
 */

import { dereference, type Schema, validate } from "@cfworker/json-schema";
import { expect } from "vitest";
import * as z from "zod/mini";
import document from "../../src/console/site/openapi.json";
import { closed } from "./closed-schemas.ts";

interface Ref {
  $ref?: string;
}
interface Described extends Ref {
  headers?: Record<string, Ref>;
  content?: Record<string, { schema?: Schema & { contentSchema?: Schema }; "x-events"?: Events }>;
  "x-error-codes"?: string[];
}
/** What the events of a stream have beside their data. */
interface Events {
  type?: string;
  id?: string;
  end?: string;
}
interface Operation {
  responses: Record<string, Described>;
}
/** A received answer; without a body if it was not read. */
export interface Received {
  status: number;
  headers: Headers;
  body?: string | undefined;
}

const { components, paths } = closed(document) as unknown as {
  components: Record<string, Record<string, object>>;
  paths: Record<string, Record<string, Operation>>;
};

/** Schemas by the URI of their references. Each schema is prepared once for all answers of the runtime. */
const base = new URL("https://openapi");
const lookup = dereference({ components: { schemas: components["schemas"] } }, undefined, base);
const prepared = new Set<Schema>();

function prepare(schema: Schema): Schema {
  if (prepared.has(schema) || "__absolute_uri__" in schema) return schema;
  dereference(schema, lookup, base, `/prepared/${prepared.size}`);
  prepared.add(schema);
  return schema;
}

/** Resolves a reference; returns any other value unchanged. */
function resolve(value: Ref): Described & { required?: boolean } {
  const [, , kind = "", name = ""] = value.$ref?.split("/") ?? [];
  return components[kind]?.[name] ?? value;
}

const patterns = Object.entries(paths).map(([path, operations]) => ({
  path,
  operations,
  isExact: !path.includes("{"),
  pattern: new RegExp(`^${path.replace(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
}));

/** The path as the gateway decodes it; unchanged if its encoding is broken. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The error envelope of a path for which no operation is documented. */
const envelope = (path: string) => {
  if (/^(?:\/v1)?(?:\/user)?\/balance\/?$/.test(path)) return "BalanceError";
  return /^\/v1\/tasks(?:\/|$)/.test(path) ? "TaskError" : "ErrorAnswer";
};

const asError = (path: string): Described => ({
  content: { "application/json": { schema: components["schemas"]![envelope(path)]! } },
});

/** The answer that the document allows, or the reason why it allows none. */
function allowed(method: string, path: string, status: number): Described | string {
  const found = patterns.filter(({ pattern }) => pattern.test(path)).sort((a, b) => Number(b.isExact) - Number(a.isExact))[0];
  const operation = found?.operations[(method === "HEAD" ? "GET" : method).toLowerCase()];
  if (operation) {
    const response = operation.responses[status];
    return response ? resolve(response) : `${status} is not documented for ${method} ${found.path}`;
  }
  if (method === "OPTIONS" && status === 204) return {};
  // Without a valid token every admin path answers 401 or 429, and without a valid signature every file's path answers 403 or 405, whether it exists or not.
  if (path.startsWith("/admin") && (status === 401 || status === 429)) return asError(path);
  if (/^\/(?:assets|characters)(?:\/|$)/.test(path) && (status === 403 || status === 405)) return asError(path);
  // Called by upstreams: 200 to every authentic call, an error to any other.
  if (path.startsWith("/callbacks/") && [200, 401, 404, 405, 503].includes(status))
    return status === 200 ? { content: { "application/json": { schema: { type: "object" } } } } : asError(path);
  if (status === (found ? 405 : 404)) return asError(path);
  return found ? `${method} is not documented for ${found.path}` : "the path is not documented";
}

function bodyProblems(text: string, type: string, { content = {}, "x-error-codes": codes }: Described): string[] {
  const { schema, "x-events": events = {} } = content[type] ?? {};
  if (!schema) return [];
  if (type === "text/event-stream") return readEvents(text).flatMap((event) => eventProblems(event, schema, events));
  const { contentSchema } = schema;
  if (contentSchema) {
    const lines = text.split("\n").filter((line) => line !== "");
    return lines.flatMap((line) => schemaProblems(JSON.parse(line), contentSchema));
  }
  if (!type.endsWith("json")) return [];
  const body = JSON.parse(text) as { error?: { code: string } };
  if (codes && !codes.includes(body.error?.code ?? "")) return [`the code ${body.error?.code} is not documented`];
  return schemaProblems(body, schema);
}

function schemaProblems(value: unknown, schema: Schema): string[] {
  const { valid, errors } = validate(value, prepare(schema), "2020-12", lookup);
  return valid ? [] : errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
}

/** The events of a stream as clients dispatch them: without those that have no data. */
const readEvents = (text: string) =>
  text
    .split("\n\n")
    .map((event) => Object.fromEntries([...event.matchAll(/^(\w+): ?(.*)$/gm)].map(([, name = "", value = ""]) => [name, value])))
    .filter(({ data }) => data !== undefined);

/** A stream's schema is that of the JSON in the data of its events; `x-events` says what else they have. */
function eventProblems(event: Record<string, string>, schema: Schema, { type, id, end }: Events): string[] {
  const { data = "", ...others } = event;
  const expected = [...(type === undefined ? [] : ["event"]), ...(id === undefined ? [] : ["id"])];
  const isSame =
    others["event"] === type &&
    expected.join() ===
      Object.keys(others)
        .sort((a, b) => (a < b ? -1 : 1))
        .join();
  return [
    ...(isSame ? [] : [`an event has ${JSON.stringify(others)}, not ${expected.join(", ")} with the type ${type}`]),
    ...(data === end ? [] : schemaProblems(JSON.parse(data), schema)),
  ];
}

/** OpenAI's error format; its answers are checked by its clients' types in their own tests. */
const openAiError = z.strictObject({
  error: z.strictObject({
    message: z.string().check(z.minLength(1)),
    type: z.enum(["invalid_request_error", "insufficient_quota", "requests", "server_error"]),
    param: z.nullable(z.string()),
    code: z.nullable(z.string()),
  }),
});

function conformOpenAi(call: string, { status, headers, body }: Received): void {
  if (status < 400 || !body || !headers.get("content-type")?.startsWith("application/json")) return;
  const result = openAiError.safeParse(JSON.parse(body));
  if (!result.success) expect.fail(`${call} ${status}: ${JSON.stringify(result.error.issues)}\n${body.slice(0, 2000)}`);
}

/** Fails the test if the document does not allow the answer. `/mcp` is checked by its own clients. */
export function conform(method: string, url: string, received: Received): void {
  const { status, headers, body } = received;
  // A trailing slash is not part of the path; an encoded one is.
  const path = decoded(new URL(url).pathname.replace(/(?<=.)\/$/, ""));
  // Pages and text files have tests of their own.
  if (/^\/(?:console|docs|llms\.txt|robots\.txt|favicon\.svg|mcp)(?:\/|$)/.test(path)) return;
  if (path.startsWith("/openai/v1/")) return conformOpenAi(`${method} ${path}`, received);
  const response = allowed(method, path, status);
  const problems: string[] = [];
  if (typeof response === "string") problems.push(response);
  else {
    const type = headers.get("content-type")?.split(";")[0]!.trim();
    const types = Object.keys(response.content ?? {});
    if (method !== "HEAD" && (type === undefined ? types.length > 0 : !types.includes(type)) && status !== 304)
      problems.push(`the type ${type} is not documented`);
    for (const [name, header] of Object.entries(response.headers ?? {}))
      if (resolve(header).required && !headers.has(name)) problems.push(`the header ${name} is missing`);
    if (body && type !== undefined) problems.push(...bodyProblems(body, type, response));
  }
  const where = "The description is made by `npm run generate`, of schemas from src/api/schema/.";
  if (problems.length > 0) expect.fail(`${method} ${path} ${status}: ${problems.join("\n")}\n${where}\n${body?.slice(0, 2000)}`);
}
