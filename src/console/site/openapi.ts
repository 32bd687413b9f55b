/** Reads the API description for its pages: operations by tag, and schemas as rows of fields. Pure. */

import description from "./openapi.json";

/** The parts of JSON Schema that the description uses. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  format?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  additionalProperties?: Schema | boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
}

interface Content {
  schema?: Schema;
  examples?: Record<string, { value?: unknown; $ref?: string }>;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

export interface Answer {
  $ref?: string;
  description: string;
  "x-error-codes"?: string[];
  content?: Record<string, Content>;
}

export interface Operation {
  operationId: string;
  security?: Record<string, unknown>[];
  "x-codeSamples"?: { lang: string; source: string }[];
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { description?: string; content: Record<string, Content> };
  responses: Record<string, Answer>;
}

interface Description {
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: Record<string, Record<string, unknown>>;
}

const document = description as unknown as Description;

/** The description's own introduction, in Markdown. */
export const about = document.info.description;

/** The groups of operations, in order. */
export const { tags } = document;

/** The path of a group's page. */
export const tagPath = (name: string) => `/docs/reference/${name}`;

/** A group's name as a title. */
export const tagTitle = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

export interface Place {
  /** `GET`, or `webhook` for requests that the gateway sends. */
  method: string;
  path: string;
  operation: Operation;
}

const asked: Place[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);
const sent: Place[] = Object.entries(document.webhooks).map(([path, { post }]) => ({ method: "webhook", path, operation: post }));

/** Every operation with a tag: requests to the gateway first, then those that it sends. */
export const operationsTagged = (tag: string): Place[] => [...asked, ...sent].filter(({ operation }) => operation.tags.includes(tag));

/** The path of an operation's page. */
export const operationPath = (tag: string, { operationId }: Operation) => `${tagPath(tag)}/${operationId}`;

/** An operation of the gateway by its id. */
export const operationNamed = (id: string): Place | undefined => asked.find(({ operation }) => operation.operationId === id);

/** True if an API key opens it. */
export const isOfKey = ({ security = [] }: Operation): boolean => security.some((one) => "apiKey" in one);

export const readSamples = (operation: Operation) => operation["x-codeSamples"] ?? [];

/** A value, or the target of its reference. */
export function resolve<Value extends { $ref?: string }>(value: Value): Value {
  if (value.$ref === undefined) return value;
  const [section = "", name = ""] = value.$ref.replace("#/components/", "").split("/");
  return document.components[section]?.[name] as Value;
}

/** The last part of a reference: `VidCRequest`. */
export const schemaName = ({ $ref }: Schema): string | undefined => $ref?.slice($ref.lastIndexOf("/") + 1);

/** The alternatives of a schema if they are objects; empty if the schema is a single object. */
export const variants = (schema: Schema): Schema[] => {
  const { anyOf, oneOf } = resolve(schema);
  const all = anyOf ?? oneOf ?? [];
  return all.length > 0 && all.every((one) => resolve(one).properties !== undefined || variants(one).length > 0) ? all : [];
};

export interface Field {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** The fields of an object, without those of nested ones. */
export function ownFields(schema: Schema): Field[] {
  const { properties = {}, required = [] } = resolve(schema);
  return Object.entries(properties).map(([name, property]) => {
    const found = resolve(property);
    const description = property.description ?? found.description ?? found.items?.description;
    return { name, schema: { ...found, ...(description !== undefined && { description }) }, isRequired: required.includes(name) };
  });
}

/** What a field contains: the object itself or those of its list, if they have fields; undefined for plain values. */
export function nestedSchema(schema: Schema): { schema: Schema; count: number; variants: Schema[] } | undefined {
  const found = resolve(schema);
  // Of a value that may also be null or plain, the object.
  const objects = (found.anyOf ?? found.oneOf ?? []).filter((one) => nestedSchema(one) !== undefined);
  const inner = found.items ? resolve(found.items) : objects.length === 1 && objects[0] ? resolve(objects[0]) : found;
  if (inner !== found && inner.properties === undefined) return nestedSchema(inner);
  const all = variants(inner);
  const count = Object.keys(inner.properties ?? {}).length;
  return all.length > 0 || count > 0 ? { schema: inner, count, variants: all } : undefined;
}

const range = (min: number | undefined, max: number | undefined) =>
  min === undefined && max === undefined ? "" : min === max ? String(min) : max === undefined ? `at least ${min}` : `${min ?? 0}–${max}`;

/** The allowed values of a schema as text: `integer, 1–4`. */
export function words(schema: Schema): string {
  const one = resolve(schema);
  if (one.const !== undefined) return JSON.stringify(one.const);
  if (one.enum) return one.enum.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
  const all = one.anyOf ?? one.oneOf;
  if (all) return [...new Set(all.map(words))].join(" or ");
  const type = Array.isArray(one.type) ? one.type.join(" or ") : (one.type ?? "any");
  if (type === "array")
    return [`list of ${one.items ? words(one.items) : "any"}`, range(one.minItems, one.maxItems)].filter(Boolean).join(", ");
  const size = range(one.minLength, one.maxLength);
  const characters = size && `${size} characters`;
  const maximum = one.maximum !== undefined && one.maximum >= Number.MAX_SAFE_INTEGER ? undefined : one.maximum;
  const format = /^(?:double|int64)$/.test(one.format ?? "") ? undefined : one.format;
  return [type, format, characters, range(one.minimum, maximum)].filter(Boolean).join(", ");
}

/** The examples of a body with their names, as JSON; text unchanged. */
export const namedExamples = ({ examples = {} }: Content): { name: string; text: string }[] =>
  Object.entries(examples).flatMap(([name, example]) => {
    const { value } = resolve(example);
    return value === undefined ? [] : [{ name, text: typeof value === "string" ? value : JSON.stringify(value, null, 2) }];
  });

/** The same without their names. */
export const formatExamples = (content: Content): string[] => namedExamples(content).map(({ text }) => text);
