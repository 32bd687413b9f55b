/** Generates the API description in OpenAPI 3.1 from the definitions in `operations/`. */

import { readFile } from "node:fs/promises";
import type { ErrorCode } from "../../src/base/errors.ts";
import type { Answer, Examples, Media, Operation, Operations } from "./definition.ts";
import { envelopes, type Family, explain, failureExamples, failureHeaders, failuresByStatus, pathFamily } from "./failures.ts";
import { type HeaderName, headers } from "./headers.ts";
import { headerParameters, pathParameters, queryParameters } from "./parameters.ts";
import { queryProperties, reference, schemaComponents } from "./schemas.ts";
import { account } from "./operations/account.ts";
import { admin } from "./operations/admin.ts";
import { adminCodes } from "./operations/admin-codes.ts";
import { adminModels } from "./operations/admin-models.ts";
import { audit } from "./operations/audit-log.ts";
import { batches } from "./operations/batches.ts";
import { callbacks } from "./operations/callbacks.ts";
import { chat } from "./operations/chat.ts";
import { destinations } from "./operations/destinations.ts";
import { files } from "./operations/files.ts";
import { generations } from "./operations/generations.ts";
import { keys } from "./operations/keys.ts";
import { payments } from "./operations/payments.ts";
import { receipts } from "./operations/receipts.ts";
import { service } from "./operations/service.ts";
import { tasks } from "./operations/tasks.ts";
import { codeSamples } from "./samples.ts";
import { info, securitySchemes, servers } from "./about.ts";
import { tags } from "./tags.ts";
import { webhooks } from "./webhooks.ts";

const operations: Operations = {
  ...generations,
  ...chat,
  ...tasks,
  ...receipts,
  ...account,
  ...files,
  ...batches,
  ...keys,
  ...callbacks,
  ...destinations,
  ...audit,
  ...payments,
  ...service,
  ...admin,
  ...adminModels,
  ...adminCodes,
};

const security = {
  key: [{ apiKey: [] }],
  token: [{ apiKey: [] }, { clientToken: [] }],
  admin: [{ adminToken: [] }],
  none: [],
};

/** The text of `src/console/site/openapi.json`, as `npm run generate` writes it. */
export async function descriptionText(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return `${JSON.stringify(describeApi(version), null, 1)}\n`;
}

function describeApi(version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  const responses: Responses = {};
  for (const [name, operation] of Object.entries(operations)) {
    const [method = "", path = ""] = name.split(" ");
    (paths[path] ??= {})[method.toLowerCase()] = describeOperation(method, path, operation, responses);
  }
  return {
    openapi: "3.1.1",
    info: { ...info, version },
    servers,
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: webhooks(),
    components: { schemas, responses, parameters: sharedParameters, headers, securitySchemes },
  };
}

const schemas = schemaComponents();

/** The gateway refuses no such request; what stands before it may. */
const ofPlatform = {
  description: "Not from the gateway: what stands before it refuses the request, for example for headers that are too large.",
};

/** `components.responses`: the errors that many operations share. */
type Responses = Record<string, object>;

function describeOperation(method: string, path: string, operation: Operation, shared: Responses): object {
  const { id, tag, summary, description, body, upload, answers } = operation;
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
  if (!Object.keys(responses).some((status) => status.startsWith("4"))) responses["4XX"] = ofPlatform;
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    security: security[operation.security ?? "key"],
    parameters: [...parametersOfPath(path), ...parametersOfQuery(operation), ...parametersInHeaders(operation)],
    ...(body && { requestBody: describeBody(body) }),
    ...(upload && { requestBody: uploadBody }),
    responses,
    ...describeSamples(method, path, operation),
  };
}

/** `x-codeSamples`, with the examples of the path's parameters and of the body. */
function describeSamples(method: string, path: string, operation: Operation): object {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const ids = Object.fromEntries(names.map((name) => [name, String(pathParameters[name]?.example)]));
  const { body } = operation;
  const [example] = body && body !== "none" ? Object.values(body.examples ?? {}) : [];
  const samples = codeSamples(method, path, operation, ids, example);
  return samples.length > 0 ? { "x-codeSamples": samples } : {};
}

/** The component name of an error that is the same in all operations; undefined if it depends on the operation. */
function sharedName(family: Family, codes: ErrorCode[], { security: needed = "key" }: Operation): string | undefined {
  const [code, ...others] = codes;
  if (others.length > 0 || code === undefined || code === "invalid_request") return undefined;
  const group = { key: "", token: "", admin: "Admin", none: "Public" }[needed];
  const envelope = { common: "Error", tasks: "TaskError", balance: "BalanceError" }[family];
  return group + code.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase()) + envelope;
}

const parametersOfPath = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
    const parameter = pathParameters[name];
    if (!parameter) throw new Error(`{${name}} has no description in scripts/openapi/parameters.ts`);
    return share({ name, in: "path", required: true, ...parameter });
  });

/** `components.parameters`. */
const sharedParameters: Record<string, Parameter> = {};

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description: string;
  schema?: object;
}

/** A reference to a parameter that is the same wherever it is used: `task_id` is `TaskIdParameter`. */
function share(parameter: Parameter): { $ref: string } {
  const name = `${parameter.name.replace(/(?:^|[_-])(\w)/g, (_, letter: string) => letter.toUpperCase())}Parameter`;
  sharedParameters[name] = parameter;
  return { $ref: `#/components/parameters/${name}` };
}

/** Parameters of queries that are the same in every operation. */
const common = new Set(["limit", "after", "wait", "dry_run"]);

function parametersOfQuery({ query }: Operation) {
  return Object.entries(query ? queryProperties(query) : {}).map(([name, { schema, required }]) => {
    const described = queryParameters[name];
    if (!described) throw new Error(`?${name}= has no description in scripts/openapi/parameters.ts`);
    const parameter = { name, in: "query", required, ...described, schema };
    return common.has(name) ? share(parameter) : parameter;
  });
}

const parametersInHeaders = ({ headers: names = [] }: Operation) =>
  names.map((name) => share({ name, in: "header", required: false, ...headerParameters[name] }));

function describeBody(body: Media | "none"): object {
  if (body !== "none") return { required: true, content: { "application/json": describeMedia(body) } };
  const empty = { schema: { type: "object", description: "No fields." }, examples: { empty: { value: {} } } };
  return { required: false, description: "Not needed.", content: { "application/json": empty } };
}

/** A body that is a file. Its type is read from the bytes, so every media type is accepted. */
const uploadBody = {
  required: true,
  description: "A form with the file, or the bytes of the file with any other content type.",
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        required: ["file"],
        properties: {
          file: { type: "string", format: "binary" },
          expires_in: { type: "integer", minimum: 3600, maximum: 604_800, description: "The file's lifetime in seconds." },
        },
      },
      examples: { image: { value: { file: "the bytes of an image", expires_in: 3600 } } },
    },
    "application/octet-stream": { schema: { type: "string", format: "binary" } },
  },
};

function describeMedia({ schema, lines, examples, events }: Media, type = "application/json"): object {
  const raw = lines ? { ...rawSchema(type), contentMediaType: type, contentSchema: reference(lines) } : rawSchema(type);
  const one = Array.isArray(schema) ? alternatives(schema.map(reference)) : schema ? reference(schema) : raw;
  return { ...(one && { schema: one }), ...(examples && { examples: toExamples(examples) }), ...(events && { "x-events": events }) };
}

/** One of several schemas. Those that differ by their constant `object` are discriminated by it. */
function alternatives(refs: { $ref: string }[]): object {
  const named = refs.map(({ $ref }) => {
    const { properties } = (schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}) as { properties?: { object?: { const?: string } } };
    return [properties?.object?.const, $ref] as const;
  });
  if (named.some(([object]) => object === undefined)) return { anyOf: refs };
  return { oneOf: refs, discriminator: { propertyName: "object", mapping: Object.fromEntries(named) } };
}

/** The schema of a body that is no JSON of the gateway's: text, or bytes. */
const rawSchema = (type: string): object | undefined => {
  if (type === "application/json") return undefined;
  return /^text\/|jsonl$/.test(type) ? { type: "string" } : { type: "string", format: "binary" };
};

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
    ...(content && { content: Object.fromEntries(Object.entries(content).map(([type, media]) => [type, describeMedia(media, type)])) }),
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
