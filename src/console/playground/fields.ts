/** A form's fields from the JSON Schema in `/v1/models`: fields and limits are defined only in the catalog. Pure. */

import { merged } from "../../catalog/own-schema.ts";

/** The part of JSON Schema that the catalog's schemas use. */
export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  required?: string[];
  items?: Schema;
  enum?: (string | number)[];
  const?: string | number;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxItems?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}

/** A field of an own input that takes images: one, or a list. */
interface Target {
  key: string;
  isList: boolean;
}

type Shape =
  | { as: "choice"; options: (string | number)[] }
  | { as: "flag" }
  | { as: "number"; isWhole: boolean; minimum?: number | undefined; maximum?: number | undefined }
  | { as: "text"; most?: number | undefined; pattern?: string | undefined; isUrl: boolean }
  | { as: "images"; most: number }
  /** Images with a role each. */
  | { as: "roles"; most: number; roles: string[] }
  /** The form's tray: all images of a request, each with a role if there are roles. */
  | { as: "pictures"; most: number; roles: string[]; targets?: Target[] }
  /** Messages of a conversation. */
  | { as: "messages"; roles: string[] }
  /** Fields without a better control: JSON. */
  | { as: "json" };

export type Field = Shape & {
  /** The path in the body, as in errors: `metadata.style`. */
  name: string;
  /** The last part of the path, as in a task's record and in the labels. */
  key: string;
  /** The object that contains the field: `metadata`. */
  group?: string | undefined;
  isRequired: boolean;
  fallback?: unknown;
  /** Of a field of an own input that takes images. */
  takes?: Target & { most: number };
};

/** The values of a form, by the names of its inputs. */
export type Typed = Map<string, string[]>;

/** Streaming is not part of the form: the page shows the whole answer. `model` is chosen before. */
const notAsked = new Set(["model", "stream", "stream_options"]);

/** The fields of a body, in the schema's order. */
export function toFields(schema: Schema, group?: string): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, property]) => {
    const name = group === undefined ? key : `${group}.${key}`;
    if (notAsked.has(name)) return [];
    if (property.properties && property.additionalProperties === undefined) return toFields(property, name);
    const isRequired = schema.required?.includes(key) ?? false;
    return [{ ...toShape(property), name, key, group, isRequired, fallback: property.default }];
  });
}

/** The names of fields of an own input that take images. */
const takesImages = /(?:^|_)(?:images?|frames?|masks?|photos?)(?:_urls?|_uris?)?$/;
const maxListed = 10;

/** The fields of an own input that take images, as their names and types say. */
function findTargets(properties: Record<string, Schema>): (Target & { most: number })[] {
  return Object.entries(properties).flatMap(([key, property]) => {
    const known = merged({ ...property }) as Schema;
    if (!takesImages.test(key) || known.enum) return [];
    const isList = known.type === "array" && (merged({ ...known.items }) as Schema).type === "string";
    return isList || known.type === "string" ? [{ key, isList, most: isList ? (known.maxItems ?? maxListed) : 1 }] : [];
  });
}

/** The fields of an own input: those of its own level, with JSON for lists and objects. The prompt stands beside it. */
export function toInputFields({ properties = {} }: Schema): Field[] {
  const { input, prompt } = properties;
  const isRequired = (key: string) => input?.required?.includes(key) ?? false;
  const targets = findTargets(input?.properties ?? {});
  const own = Object.entries(input?.properties ?? {}).flatMap(([key, property]): Field[] => {
    if (key === "prompt" && prompt) return [];
    const known = merged({ ...property }) as Schema;
    const shape: Shape = ["array", "object", undefined].includes(known.type) && !known.enum ? { as: "json" } : toShape(known);
    const images = targets.find((target) => target.key === key);
    return [
      {
        ...shape,
        name: `input.${key}`,
        key,
        group: "input",
        isRequired: isRequired(key),
        fallback: known.default,
        ...(images && { takes: images }),
      },
    ];
  });
  return [...(prompt ? [{ ...toShape(prompt), name: "prompt", key: "prompt", isRequired: isRequired("prompt") }] : []), ...own];
}

function toShape(schema: Schema): Shape {
  const options = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (options) return { as: "choice", options };
  switch (schema.type) {
    case "boolean":
      return { as: "flag" };
    case "integer":
    case "number":
      return { as: "number", isWhole: schema.type === "integer", minimum: schema.minimum, maximum: schema.maximum };
    case "string":
      return { as: "text", most: schema.maxLength, pattern: schema.pattern, isUrl: schema.format === "uri" };
    case "array":
      return toListShape(schema.items ?? {}, schema.maxItems ?? 1);
    default:
      return { as: "json" };
  }
}

/** In the catalog, lists of texts are images; lists of objects are images with roles or a conversation. */
function toListShape({ type, properties }: Schema, most: number): Shape {
  if (type === "string") return { as: "images", most };
  const roles = properties?.["role"]?.enum?.map(String);
  if (roles && properties?.["url"]) return { as: "roles", most, roles };
  return roles && properties?.["content"] ? { as: "messages", roles } : { as: "json" };
}

/** The fields of a form: one tray for all images replaces the schema's two lists, and those fields of an own input that take images. */
export function formFields(fields: Field[]): Field[] {
  const targets = fields.flatMap(({ takes }) => takes ?? []);
  if (targets.length > 0) {
    const tray: Field = {
      as: "pictures",
      name: "pictures",
      key: "pictures",
      group: "input",
      most: targets.reduce((sum, { most }) => sum + most, 0),
      // With one field the image needs no choice of its place.
      roles: targets.length > 1 ? targets.map(({ key }) => key) : [],
      targets: targets.map(({ key, isList }) => ({ key, isList })),
      isRequired: false,
    };
    return fields.flatMap((field) => (!field.takes ? [field] : field.takes === targets[0] ? [tray] : []));
  }
  const lists = fields.filter(({ as }) => as === "images" || as === "roles");
  const [first] = lists;
  if (!first) return fields;
  const roles = lists.flatMap((field) => (field.as === "roles" ? field.roles : []));
  const most = Math.max(...lists.map((field) => ("most" in field ? (field.most ?? 0) : 0)));
  const tray: Field = { as: "pictures", name: "pictures", key: "pictures", most, roles, isRequired: false };
  return fields.flatMap((field) => (field === first ? [tray] : lists.includes(field) ? [] : [field]));
}

/** True if an error's `param` belongs to a field: `images[1]` belongs to the tray. */
const holdsParam = (field: Field, param: string) => {
  const { name } = field;
  if (field.as === "pictures" && field.targets)
    return field.targets.some(({ key }) => param === `input.${key}` || param.startsWith(`input.${key}[`));
  return field.as === "pictures"
    ? /^image(s|_with_roles)\b/.test(param)
    : param === name || param.startsWith(`${name}[`) || param.startsWith(`${name}.`);
};

/** The field of an error's `param`. */
export const fieldAt = (fields: Field[], param: string) => fields.find((field) => holdsParam(field, param));

/** The form's values for a task's recorded parameters, with defaults for the others. */
export function toTyped(fields: Field[], parameters: Record<string, unknown> = {}): Typed {
  const typed: Typed = new Map();
  for (const field of fields) {
    const value = field.as === "pictures" ? readPictures(field, parameters) : (recorded(field, parameters) ?? field.fallback);
    for (const [name, text] of value === undefined ? [] : toTexts(field, value)) typed.set(name, [text === "auto" ? "" : text]);
  }
  return typed;
}

/** The value of a field in a record; an own input is one of its parameters. */
function recorded({ key, group }: Field, parameters: Record<string, unknown>): unknown {
  const { input } = parameters as { input?: Record<string, unknown> };
  return input && (group === "input" || key === "prompt") ? input[key] : parameters[key];
}

/** The images of a record, with the roles that the gateway resolved. */
function readPictures({ roles, targets }: Field & { as: "pictures" }, parameters: Record<string, unknown>) {
  if (targets) {
    const { input } = parameters as { input?: Record<string, unknown> };
    return targets.flatMap(({ key }) => [input?.[key] ?? []].flat().map((url) => ({ url, role: roles.includes(key) ? key : "" })));
  }
  const { images = [], image_with_roles: listed = [] } = parameters;
  const plain = (images as string[]).map((url, _, { length }) => ({ url, role: length === 1 ? "first_frame" : "reference" }));
  const all = [...plain, ...(listed as { url: string; role: string }[])];
  return all.map(({ url, role }) => ({ url, role: roles.includes(role) ? role : "" }));
}

/** Strings unchanged, other values as JSON. */
export const plain = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

/** Uploaded images are not in a record: only those with a URL are restored. */
const isAddress = (text: unknown): text is string => typeof text === "string" && /^https?:/i.test(text);

function toTexts(field: Field, value: unknown): [name: string, text: string][] {
  const { name, as } = field;
  switch (as) {
    case "flag":
      return value === true ? [[name, "on"]] : [];
    case "images":
      return [[`${name}.url`, (value as unknown[]).filter(isAddress).join("\n")]];
    case "pictures":
    case "roles":
      return (value as { url: string; role: string }[])
        .filter(({ url }) => isAddress(url))
        .flatMap(({ url, role }, at): [string, string][] => [
          [`${name}.${at}.url`, url],
          [`${name}.${at}.role`, role],
        ]);
    case "messages":
      return (value as { role: string; content: string }[]).flatMap(({ role, content }, at): [string, string][] => [
        [`${name}.${at}.role`, role],
        [`${name}.${at}.content`, content],
      ]);
    case "choice":
    case "number":
    case "text":
    case "json":
      return [[name, plain(value)]];
  }
}

/** True if a video has the ratio of its first frame: the field is then not sent. */
export const mayFollowImage = ({ name }: Field, fields: Field[]) =>
  name === "size" && fields.some((field) => field.as === "pictures" && field.roles.length > 0);

const unset = ({ fallback }: Field) => (fallback === undefined ? [] : [plain(fallback)]);

/** False for a value that the field does not offer, and for a number out of its range. */
function fits(field: Field, text: string | undefined): boolean {
  if (field.as === "choice") return field.options.some((option) => String(option) === text);
  if (field.as !== "number" || text === undefined || !Number.isFinite(Number(text))) return true;
  return Number(text) >= (field.minimum ?? -Infinity) && Number(text) <= (field.maximum ?? Infinity);
}

/** The values of another model's form that are valid for this one; defaults for the rest, also if the other form had its default. */
export function carriedOver(fields: Field[], typed: Typed, others: Field[] = []): Typed {
  const untouched = toTyped(others);
  const changed = [...typed].filter(([name, [text]]) => text !== untouched.get(name)?.[0]);
  const carried: Typed = new Map([...toTyped(fields), ...changed]);
  for (const field of fields)
    if (!fits(field, carried.get(field.name)?.[0]) && !(carried.get(field.name)?.[0] === "" && mayFollowImage(field, fields)))
      carried.set(field.name, unset(field));
  return carried;
}
