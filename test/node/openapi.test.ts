/** The API description is current and valid OpenAPI 3.1, and every example in it matches its schema. */

import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, test } from "vitest";
import { descriptionFile, descriptionText } from "../../scripts/openapi/file.ts";
import { errorTable } from "../../src/errors.ts";

interface Media {
  schema?: object;
  examples?: Record<string, { value: unknown }>;
}
interface Response {
  $ref?: string;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  parameters?: { name: string; schema: object; example?: unknown }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response>;
}
interface Description {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Response>;
    headers: Record<string, { schema: object; example?: unknown }>;
  };
}

const text = readFileSync(descriptionFile, "utf8");
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
ajv.addSchema(description, "openapi");

/** References within the document, rewritten so that they can be resolved from outside. */
const isValid = (schema: object, value: unknown) => {
  const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as object;
  return ajv.validate(absolute, value) ? [] : ajv.errors;
};

test("openapi.json is what `npm run openapi` would write", async () => {
  expect(text === (await descriptionText()), "run `npm run openapi`").toBe(true);
});

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

test("every example of a parameter or header matches its schema", () => {
  const values = [
    ...operations.flatMap(({ name, operation }) =>
      (operation.parameters ?? []).map((parameter) => ({ at: `${name} ${parameter.name}`, ...parameter })),
    ),
    ...Object.entries(components.headers).map(([name, header]) => ({ at: name, ...header })),
  ].filter(({ example }) => example !== undefined);
  expect(values.length).toBeGreaterThan(100);
  expect(values.flatMap(({ at, schema, example }) => isValid(schema, example)?.map((error) => ({ at, error })))).toEqual([]);
});

test("every JSON body with a schema has an example", () => {
  const without = bodies.filter(([name, { schema, examples }]) => schema && !examples && !name.endsWith("text/event-stream"));
  expect(without.map(([name]) => name)).toEqual([]);
});

test("an example with an undocumented field would be detected", () => {
  const submission = { $ref: "#/components/schemas/Submission" };
  const [, media] = bodies.find(([name]) => name === "POST /v1/images/generations 200 application/json") ?? [];
  const value = media?.examples?.["image"]?.value as object;
  expect(isValid(submission, value)).toEqual([]);
  expect(isValid(submission, { ...value, cost: 1 })).toMatchObject([{ keyword: "additionalProperties" }]);
});

test("operations have unique names", () => {
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z]+$/);
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
  expect(chat?.properties["n"]).toEqual({ type: "number", const: 1, description: "Number of answers: always one." });
  expect(image?.properties["n"]).toMatchObject({ description: "Number of images; each is charged." });
  expect(image?.properties["size"]).toMatchObject({ description: "The ratio of width to height." });
});
