/** The API description is valid OpenAPI 3.1, and every example in it matches its schema. */

import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { closed } from "../support/closed-schemas.ts";
import { errorTable } from "../../src/base/errors.ts";

interface Media {
  schema?: object;
  examples?: Record<string, { value: unknown }>;
}
interface Response {
  $ref?: string;
  content?: Record<string, Media>;
}
interface Parameter {
  name: string;
  schema: object;
  example?: unknown;
}
interface Operation {
  operationId: string;
  tags: string[];
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Response>;
    parameters: Record<string, Parameter>;
    headers: Record<string, { schema: object; example?: unknown }>;
  };
}

const text = readFileSync(new URL("../../src/console/site/openapi.json", import.meta.url), "utf8");
const description = JSON.parse(text) as Description;
const { components } = description;

const operations = [...Object.entries(description.paths), ...Object.entries(description.webhooks)].flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);

/** Every place of the document that contains a body, with a name for it. */
const bodies: [string, Media][] = [
  ...operations.flatMap(({ name, operation }) => [
    ...Object.values(operation.requestBody?.content ?? {}).map((media): [string, Media] => [`${name} body`, media]),
    ...Object.entries(operation.responses).flatMap(([status, { content = {} }]) =>
      Object.entries(content).map(([type, media]): [string, Media] => [`${name} ${status} ${type}`, media]),
    ),
  ]),
  ...Object.entries(components.responses).flatMap(([name, { content = {} }]) =>
    Object.values(content).map((media): [string, Media] => [name, media]),
  ),
];

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema(closed(description), "openapi");

/** References within the document, rewritten so that they can be resolved from outside. */
const isValid = (schema: object, value: unknown) => {
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as object;
  return ajv.validate(absolute, value) ? [] : ajv.errors;
};

test("openapi.json is OpenAPI 3.1", async () => {
  const validator = new Validator();
  expect(await validator.validate(text)).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

test("every example of a body matches its schema", () => {
  const examples = bodies.flatMap(([name, { schema, examples = {} }]) =>
    Object.entries(examples).map(([key, { value }]) => ({ name: `${name}: ${key}`, schema, value })),
  );
  expect(examples.length).toBeGreaterThan(150);
  expect(examples.flatMap(({ name, schema, value }) => isValid(schema ?? {}, value)?.map((error) => ({ name, error })))).toEqual([]);
});

test("no message of an example has a placeholder without its value", () => {
  expect([...text.matchAll(/"message": "[^"]*\{\w+\}[^"]*"/g)].map(([message]) => message)).toEqual([]);
});

test("every example of a parameter or header matches its schema", () => {
  const values = [
    ...operations.flatMap(({ name, operation }) =>
      (operation.parameters ?? []).flatMap((parameter) => ("$ref" in parameter ? [] : [{ at: `${name} ${parameter.name}`, ...parameter }])),
    ),
    ...Object.values(components.parameters).map((parameter) => ({ at: parameter.name, ...parameter })),
    ...Object.entries(components.headers).map(([name, header]) => ({ at: name, ...header })),
  ].filter(({ example }) => example !== undefined);
  expect(values.length).toBeGreaterThan(40);
  expect(values.flatMap(({ at, schema, example }) => isValid(schema, example)?.map((error) => ({ at, error })))).toEqual([]);
});

test("every JSON body with a schema has an example", () => {
  const without = bodies.filter(
    ([name, { schema, examples }]) => schema && !examples && !("format" in schema) && !/(?:text\/\S+|jsonl)$/.test(name),
  );
  expect(without.map(([name]) => name)).toEqual([]);
});

test("a stream's schema is that of the JSON in its events, and it says what else they have", () => {
  const streams = bodies.filter(([name]) => name.endsWith("text/event-stream"));
  expect(streams.map(([name, media]) => [name, media])).toEqual([
    [
      "POST /v1/chat/completions 200 text/event-stream",
      {
        schema: { anyOf: [{ $ref: "#/components/schemas/ChatCompletionChunk" }, { $ref: "#/components/schemas/ErrorAnswer" }] },
        "x-events": { end: "[DONE]" },
      },
    ],
    [
      "GET /v1/tasks/{task_id}/events 200 text/event-stream",
      { schema: { $ref: "#/components/schemas/Task" }, "x-events": { type: "task", id: "For `Last-Event-ID`." } },
    ],
  ]);
});

test("requests are open by name, answers by having no other rule", () => {
  const { ImageRequest: request, Task: task, Balance: balance } = components.schemas as Record<string, { additionalProperties?: unknown }>;
  expect(request?.additionalProperties).toBe(true);
  expect([task, balance].map((schema) => schema && "additionalProperties" in schema)).toEqual([false, false]);
  const closedOnes = Object.entries(components.schemas).filter(([, schema]) =>
    JSON.stringify(schema).includes('"additionalProperties":false'),
  );
  expect(closedOnes.map(([name]) => name)).toEqual(["OwnInputRequest"]);
});

test("every alternative of a discriminated schema is in its mapping, by a value that it allows", () => {
  interface Union {
    oneOf: { $ref: string }[];
    discriminator: { propertyName: string; mapping: Record<string, string> };
  }
  const unions: Union[] = [];
  JSON.stringify(description, (_, value: unknown) => {
    if (typeof value === "object" && value !== null && "discriminator" in value) unions.push(value as Union);
    return value;
  });
  expect(unions.length).toBeGreaterThan(5);
  for (const { oneOf, discriminator } of unions) {
    expect(new Set(Object.values(discriminator.mapping))).toEqual(new Set(oneOf.map(({ $ref }) => $ref)));
    for (const [value, $ref] of Object.entries(discriminator.mapping)) {
      const schema = components.schemas[$ref.replace("#/components/schemas/", "")] as {
        properties: Record<string, { const?: string; enum?: string[] }>;
      };
      const { const: only, enum: words = [only] } = schema.properties[discriminator.propertyName] ?? {};
      expect(words).toContain(value);
    }
  }
});

test("no schema has the name of a type that languages have", () => {
  const builtIn =
    /^(?:Error|File|Blob|Event|Character|String|Object|Number|Boolean|List|Map|Set|Date|Ok|Option|Result|Function|Request|Response)$/;
  expect(Object.keys(components.schemas).filter((name) => builtIn.test(name))).toEqual([]);
});

test("an example with an undocumented field would be detected", () => {
  const submission = { $ref: "#/components/schemas/Submission" };
  const [, media] = bodies.find(([name]) => name === "POST /v1/images/generations 200 application/json") ?? [];
  const value = media?.examples?.["image"]?.value as object;
  expect(isValid(submission, value)).toEqual([]);
  expect(isValid(submission, { ...value, secret: 1 })).toMatchObject([{ keyword: "additionalProperties" }]);
});

test("operations have unique names", () => {
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
});

test("webhooks and paths share no tag: generators that write one file for each lose one of them", () => {
  const readTags = (all: Description["paths"]) =>
    new Set(
      Object.values(all)
        .flatMap((methods) => Object.values(methods))
        .flatMap(({ tags }) => tags),
    );
  expect([...readTags(description.webhooks)].filter((tag) => readTags(description.paths).has(tag))).toEqual([]);
});

test("every reference can be resolved, and every component is used", () => {
  const used = new Set([...text.matchAll(/"#\/components\/([^"]+)"/g)].map(([, path = ""]) => path));
  const there = Object.entries(components).flatMap(([kind, entries]) => Object.keys(entries).map((name) => `${kind}/${name}`));
  expect([...used].filter((path) => !there.includes(path))).toEqual([]);
  expect(there.filter((path) => !used.has(path) && !path.startsWith("securitySchemes/"))).toEqual([]);
});

test("every error code is documented; 405 answers every method that a path does not have", () => {
  const documented = new Set(
    [...text.matchAll(/"x-error-codes": (\[[^\]]*\])/g)].flatMap(([, codes = "[]"]) => JSON.parse(codes) as string[]),
  );
  expect(Object.keys(errorTable).filter((code) => !documented.has(code))).toEqual(["method_not_allowed"]);
});

test("fields of chats are not described as those of images", () => {
  const { ChatRequest: chat, ImageRequest: image } = components["schemas"] as Record<string, { properties: Record<string, object> }>;
  expect(chat?.properties["n"]).toEqual({ type: "integer", enum: [1], description: "Number of answers: always one." });
  expect(image?.properties["n"]).toMatchObject({ description: "Number of images; each is charged." });
  expect(image?.properties["size"]).toMatchObject({ description: "The ratio of width to height." });
});
