/** Valid bodies of every model and action, generated from the JSON Schemas that callers see. */

import * as fc from "fast-check";
import * as z from "zod/mini";
import { builtInCatalog } from "../../src/catalog/catalog.ts";
import type { Action } from "../../src/catalog/models.ts";

/** The part of JSON Schema that the catalog's schemas use. */
export interface Schema {
  type?: string;
  enum?: (string | number)[];
  const?: string | number;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  pattern?: string;
  description?: string;
}

export type Body = Record<string, unknown>;

export interface Valid {
  action: Action;
  schema: Schema;
  body: Body;
}

/** Names of inherited object properties, which a body may use as field names. */
export const inheritedNames = ["__proto__", "constructor", "toString", "prototype", "hasOwnProperty"];

const unit = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.constantFrom("\ud800", "\udc00", "\u0000", "{", '"', "\\", "🙂") },
);
export const text = fc.oneof(fc.string({ unit, maxLength: 20 }), fc.constantFrom(...inheritedNames, "", "{param}", "null"));
export const json = fc.jsonValue({ stringUnit: "binary", maxDepth: 4 });

/** An object with fields of any name, inherited ones included: `JSON.stringify` writes them all. */
export const anyFields = (names: fc.Arbitrary<string>, values: fc.Arbitrary<unknown>, maxLength = 4): fc.Arbitrary<Body> =>
  fc.uniqueArray(fc.tuple(names, values), { selector: ([name]) => name, maxLength }).map((entries) => Object.fromEntries(entries));

/** Without mentions, which would name characters that do not exist. */
const readPrompt = (maximum: number) =>
  fc
    .oneof(
      { weight: 8, arbitrary: text.map((some) => some.replaceAll("@", "")) },
      { weight: 1, arbitrary: fc.constantFrom("x", "🙂", "画").map((one) => one.repeat(maximum)) },
    )
    .map((some) => (some.trim() === "" ? "a quiet street" : some));

/** A range within the two seconds of the sandbox's videos, from microseconds, as decimal text. */
const timestamps = fc
  .tuple(fc.nat(500_000), fc.integer({ min: 1_000_000, max: 1_500_000 }), fc.constantFrom("", " ", "\t"))
  .map(([start, length, space]) => `${space}${start / 1e6}${space},${space}${((start + length) / 1e6).toFixed(6)}${space}`);

const imageUrl = fc.constantFrom(
  "https://pictures.example/n.png",
  " https://pictures.example/n.png?a=%F0%9F%99%82#b ",
  "HTTP://pictures.example/画.webp",
);
const png = `data:image/png;base64,${Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13).toBase64()}`;

/** A field for a URL, which may also be the id of a file; for images with data URIs, which the description says. */
export const isImage = ({ description }: Schema) => /^(?:Public http\(s\) URL|URL of a video)/.test(description ?? "");
const takesData = ({ description }: Schema) => description?.includes("data:") ?? false;
/** The field for an image in a chat. */
const isChatImage = ({ description }: Schema) => description?.startsWith("URL, data URI") ?? false;

function readString(schema: Schema): fc.Arbitrary<string> {
  if (schema.pattern !== undefined) return timestamps;
  if (isChatImage(schema)) return fc.constantFrom("https://pictures.example/n.png", "HTTP://pictures.example/画.webp", png);
  if (isImage(schema)) return takesData(schema) ? fc.oneof(imageUrl, fc.constant(png)) : imageUrl;
  return schema.maxLength === undefined ? text : readPrompt(schema.maxLength);
}

/** Values that a schema accepts; the test adds rules between two fields. */
export function valueOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valueOf));
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case "string":
      return readString(schema);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.maxSafeInteger().map((some) => within(some, schema.minimum!, schema.maximum!));
    case "number":
      return fc.double({ min: schema.minimum ?? -100, max: schema.maximum ?? 100, noNaN: true });
    case "array":
      return fc.array(valueOf(schema.items!), { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? 4, 5) });
    case "object":
      return openObject(schema);
    default:
      return json;
  }
}

const within = (some: number, low: number, high: number) =>
  some >= low && some <= high ? some : low + (Math.abs(some) % (high - low + 1));

function openObject({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<Body> {
  const own = fc.record(Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, valueOf(field)])), {
    requiredKeys: required,
    noNullPrototype: true,
  });
  if (!additionalProperties) return own;
  const names = additionalProperties.type ? fc.stringMatching(/^\d{1,6}$/) : fc.oneof(text, fc.constantFrom(...inheritedNames));
  const others = anyFields(
    names.filter((name) => !Object.hasOwn(properties, name)),
    additionalProperties.type ? valueOf(additionalProperties) : json,
    2,
  );
  return fc.tuple(own, others).map(([fields, more]) => Object.fromEntries([...Object.entries(fields), ...Object.entries(more)]));
}

export interface Role {
  url: unknown;
  role: string;
}

interface FilePart {
  type: string;
  file: { file_data?: string; file_id?: string };
}

/** A message part that follows the rule for files: with data, not with an id. */
function withFileData(part: Body | FilePart): object {
  if (part["type"] !== "file") return part;
  const { file_id: _, file_data = "AAAA", ...file } = (part as FilePart).file;
  return { ...part, file: { ...file, file_data } };
}

/** Makes a body follow the rules between two of its fields. `video` is a task whose video a character may come from. */
function keepRules(action: Action, body: Body, video: string): Body {
  const { images: _images, image_with_roles: roles, url, from_task: _task, ...rest } = body;
  if (action === "character") return { ...rest, ...(url === undefined ? { from_task: video } : { url }) };
  if (action === "chat") {
    const messages = (body["messages"] as Body[]).map((one) => {
      const { content } = one;
      if (Array.isArray(content)) return Object.assign(one, { content: content.map(withFileData) });
      return content !== undefined || (one["role"] === "assistant" && one["tool_calls"]) ? one : Object.assign(one, { content: "Hi" });
    });
    return { ...body, messages };
  }
  const is1080p = (body["metadata"] as Body | undefined)?.["resolution"] === "1080p";
  // Several images are references.
  if (!roles) return is1080p && Array.isArray(body["images"]) ? { ...body, images: body["images"].slice(0, 1) } : body;
  const taken = new Set<string>();
  const kept = (roles as Role[]).filter(({ role }) => {
    // vidA and vidB take frames or references, which is valid for vidC too.
    const isMixed = taken.size > 0 && taken.has("reference") !== (role === "reference");
    const isFine = !isMixed && (role === "reference" ? !is1080p : !taken.has(role));
    if (isFine) taken.add(role);
    return isFine;
  });
  return { ...rest, image_with_roles: kept };
}

const callbackUrl = fc.constantFrom("https://hooks.example/done?a=b", "http://localhost:9999/done");

/** Valid bodies of an action, some with unknown fields, which are ignored. */
export function validBodies(action: Action, video = ""): fc.Arbitrary<Valid> {
  const able = builtInCatalog().live.filter((model) => model.actions[action]);
  return fc.oneof(
    ...able.map((model) => {
      const schema = z.toJSONSchema(model.actions[action]!(), { io: "input", unrepresentable: "any" }) as Schema;
      const unknown = anyFields(
        fc.oneof(
          text.map((name) => `x ${name}`),
          fc.constantFrom(...inheritedNames),
        ),
        json,
        2,
      );
      return fc
        .tuple(
          fc.constantFrom(model.id, ...(model.aliases ?? [])),
          valueOf(schema) as fc.Arbitrary<Body>,
          action === "chat" ? fc.constant(undefined) : fc.option(callbackUrl, { nil: undefined, freq: 3 }),
          unknown,
        )
        .map(([name, fields, callback_url, more]): Valid => {
          const body = { model: name, ...keepRules(action, fields, video), ...(callback_url !== undefined && { callback_url }) };
          return { action, schema, body: Object.fromEntries([...Object.entries(more), ...Object.entries(body)]) };
        });
    }),
  );
}
