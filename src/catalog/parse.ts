/** Parses a JSON body into model, action and resolved parameters, or into every rule it violates. */

import * as z from "zod/mini";
import { once } from "../base/once.ts";
import { beyondLimit, type ErrorCode, maxViolations, notOneOf, toParam, valueAt, type Violation } from "../base/errors.ts";
import type { ImageBackground, ImageFormat, ImageRole } from "./fields.ts";
import { builtInCatalog, type Catalog } from "./catalog.ts";
import type { Action, Family, Kind, Model } from "./models.ts";
import { chatBody, refusedFields } from "./chat-schema.ts";
import { parseOwnBody } from "./own-body.ts";
import type { FoundFile } from "./own-schema.ts";
import * as schemas from "./schemas.ts";
import { findOversized } from "./sizes.ts";

// Of a text, `z.int()` says that a number is expected. An issue names its schema only here, so its message notes the integer.
z.config({
  customError: ({ inst }) => ((inst?._zod.def as { format?: string } | undefined)?.format === "safeint" ? "integer" : undefined),
});

/** Every parameter that a submission can have, with defaults filled in; those of the body's `metadata` are on the same level. */
export interface Parameters {
  prompt?: string;
  size?: string;
  n?: number;
  quality?: "standard" | "hd";
  images?: string[];
  image_with_roles?: { url: string; role: ImageRole }[];
  duration?: number;
  resolution?: string;
  style?: string;
  watermark?: boolean;
  private?: boolean;
  storyboard?: boolean;
  thumbnail?: boolean;
  first_frame_image?: string;
  last_frame_image?: string;
  prompt_optimizer?: boolean;
  url?: string;
  from_task?: string;
  timestamps?: string;
  /** The upstream's own input, of models that have one: JSON. Not a record, because objects' calls cannot have values of unknown types. */
  input?: object;
  /** Set by requests of OpenAI's paths: the alias of the requested model, the name for a character, and options of an image's file. */
  requested_model?: string;
  name?: string;
  output_format?: ImageFormat;
  background?: ImageBackground;
}

/** The parameters that only OpenAI's paths may send, all of them texts. */
const openAiFields = ["requested_model", "name", "output_format", "background"];

function copyOpenAiFields(body: Record<string, unknown>, output: Record<string, unknown>): void {
  for (const own of openAiFields) if (typeof body[own] === "string") output[own] = body[own];
}

/** `task` takes models of every kind but chats. */
export type Endpoint = "chat" | "image" | "video" | "remix" | "task";

/** `code` is one of the two refusals; `violations` is empty for a valid body. */
export interface Parsed<A extends Action = Action> {
  model: Model | undefined;
  action: A;
  /** The schema's output: resolved parameters, or the fields of a chat that are not dropped. */
  output: Record<string, unknown>;
  code: Extract<ErrorCode, "invalid_request" | "model_not_found">;
  violations: Violation[];
  /** The files that an own input names. */
  files: FoundFile[];
}

const families: Record<Exclude<Endpoint, "task">, Family> = { chat: "chat", image: "image", video: "video", remix: "video" };

/** The schemas that are used if the model is unknown. */
const fallback: Record<Endpoint, () => z.ZodMiniType> = {
  task: once(() => z.object({})),
  chat: chatBody,
  image: schemas.image,
  video: schemas.anyVideo,
  remix: schemas.anyVideo,
};

/**
 * Durations in seconds that OpenAI's paths accept in addition to a model's own. There a remix keeps its source's duration, whatever the
 * source's model.
 */
const openAiSeconds: Partial<Record<Action, unknown[]>> = { video: [4, 8, 12], remix: [4, 8, 10, 12] };

/** What a body is parsed with: the models, by default the built-in ones, and whether the request came from OpenAI's paths. */
interface Given {
  isOpenAi?: boolean;
  catalog?: Catalog;
}

/** Parses a body, a JSON object without nulls, as a submission to an endpoint. */
export function parseBody(body: Record<string, unknown>, endpoint: Exclude<Endpoint, "chat">, given?: Given): Parsed<Kind>;
export function parseBody(body: Record<string, unknown>, endpoint: Endpoint, given?: Given): Parsed;
export function parseBody(body: Record<string, unknown>, endpoint: Endpoint, given: Given = {}): Parsed {
  const { isOpenAi = false, catalog = builtInCatalog() } = given;
  const { model, violation, code } = findModel(catalog, body["model"], endpoint);
  if (model?.own) return parseOwn(model, body, isOpenAi);
  const action = detectAction(body, endpoint, model);
  const schema = model?.actions[action] ?? (endpoint === "video" && action === "character" ? schemas.characterBody : fallback[endpoint]);
  const oversized = findOversized(body);
  if (oversized) return { model, action, output: {}, code, violations: [...(violation ? [violation] : []), oversized], files: [] };
  const isMore = isOpenAi && openAiSeconds[action]?.includes(body["duration"]);
  const result = schema().safeParse(isMore ? { ...body, duration: undefined } : body);
  const violations = [
    ...(violation ? [violation] : []),
    ...(result.success ? [] : toViolations(result.error, body)),
    ...crossRules(body, action, model),
  ];
  const output = result.success ? (result.data as Record<string, unknown>) : {};
  if (isMore) output["duration"] = body["duration"];
  if (isOpenAi) copyOpenAiFields(body, output);
  return { model, action, output, code, violations, files: [] };
}

/** A body with an own input; its limits are those of the model's schema. */
function parseOwn(model: Model, body: Record<string, unknown>, isOpenAi: boolean): Parsed {
  const oversized = findOversized(body);
  const found = oversized
    ? { input: {}, files: [], violations: [oversized] }
    : parseOwnBody(model.own!, body, isOpenAi ? openAiFields : []);
  const output: Record<string, unknown> = { input: found.input };
  if (isOpenAi) copyOpenAiFields(body, output);
  return { model, action: model.family, output, code: "invalid_request", violations: found.violations, files: found.files };
}

/** A name that can stand in a header, and is no field of every submission. */
const modelField = /^(?!(?:model|callback_url|deliver_to|max_cost|reference|store)$)[\w.-]{1,64}$/;

/** The names of a valid body's fields that are not in its output, such as those of other models. */
export const ignoredFields = (body: object, output: object, prefix = ""): string[] =>
  Object.entries(body).flatMap(([name, value]) => {
    if (!Object.hasOwn(output, name)) return modelField.test(name) ? [prefix + name] : [];
    return name === "metadata" ? ignoredFields(value as object, output[name as never], "metadata.") : [];
  });

/** The parameters of a parsed submission. */
export function toParameters(output: Record<string, unknown>): Parameters {
  const { metadata, ...rest } = output;
  return { ...rest, ...(metadata as object | undefined) };
}

/** The model of a body, or its violation. `any` takes every model. */
export function findModel(
  catalog: Catalog,
  name: unknown,
  endpoint: Endpoint | "any",
): { model?: Model; violation?: Violation; code: Parsed["code"] } {
  const isFor = (model: Model) => {
    if (endpoint === "any") return true;
    if (endpoint === "task") return model.family !== "chat";
    return endpoint === "remix" ? model.actions.remix !== undefined : model.family === families[endpoint];
  };
  const known = typeof name === "string" ? catalog.named(name) : undefined;
  if (known && isFor(known)) return { model: known, code: "invalid_request" };
  const allowed = catalog.live.flatMap((model) => (isFor(model) ? [model.id, ...model.aliases] : []));
  if (name === undefined) return { violation: { param: "model", rule: "required", allowed }, code: "invalid_request" };
  if (typeof name !== "string")
    return { violation: { param: "model", rule: "wrong_type", values: { expected: "string" }, allowed }, code: "invalid_request" };
  return { violation: { param: "model", rule: "unknown_model", allowed }, code: "model_not_found" };
}

/** A vidA body that names a source video creates a character (mode B). */
function detectAction(body: Record<string, unknown>, endpoint: Endpoint, model: Model | undefined): Action {
  if (endpoint === "task") return model && model.family !== "video" ? model.family : detectAction(body, "video", model);
  if (endpoint !== "video") return endpoint;
  return (!model || model.actions.character) && isCharacterBody(body) ? "character" : "video";
}

const isCharacterBody = (body: Record<string, unknown>) => ["url", "from_task", "timestamps"].some((field) => body[field] !== undefined);

/** True if a model with the body of this one accepts `image_with_roles`. */
export const takesRoles = (like: string) => /^vid[ABC]/.test(like);

/** Rules between two fields; they read the raw body, so that their violations are reported beside the others. */
function crossRules(body: Record<string, unknown>, action: Action, model: Model | undefined): Violation[] {
  const violations: Violation[] = action === "chat" ? refusedFields(body) : [];
  if (action === "character") {
    if (body["url"] !== undefined && body["from_task"] !== undefined)
      violations.push({ param: "from_task", rule: "not_together", values: { other: "url" } });
    if (body["url"] === undefined && body["from_task"] === undefined)
      violations.push({ param: "url", rule: "one_of_required", values: { fields: "url, from_task" } });
  }
  const { images, image_with_roles: roles } = body;
  if (action !== "video" || !model || !takesRoles(model.like)) return violations;
  if (roles !== undefined && images !== undefined)
    violations.push({ param: "image_with_roles", rule: "not_together", values: { other: "images" } });
  const { resolution } = (body["metadata"] ?? {}) as { resolution?: unknown };
  if (!model.like.startsWith("vidC") || resolution !== "1080p") return violations;
  const rule = "no_reference_at_1080p";
  if (Array.isArray(roles))
    roles.forEach((image: { role?: unknown } | null, at) => {
      if (image?.role === "reference") violations.push({ param: `image_with_roles[${at}].role`, rule });
    });
  // Several images without roles are references. A list of more than four is refused for its length.
  if (Array.isArray(images) && images.length > 1 && images.length < 5) violations.push({ param: "images", rule });
  return violations;
}

/** The violations that a schema found in a body: the first one of each field, at most as many as an answer lists. */
export function toViolations(error: z.core.$ZodError, body: unknown): Violation[] {
  const found = new Map<string, Violation>();
  for (const issue of error.issues.flatMap(unfold)) {
    const violation = toViolation(issue, body);
    const earlier = found.get(violation.param);
    if (!earlier && found.size === maxViolations) break;
    // The library's own limit of integers is less helpful than the field's limit, which is the next issue.
    const isOwnLimit = Object.values(earlier?.values ?? {}).some((limit) => Math.abs(Number(limit)) === Number.MAX_SAFE_INTEGER);
    if (!earlier || isOwnLimit) found.set(violation.param, violation);
  }
  return [...found.values()];
}

/**
 * The issues of a value that matches no option of a union: those of the option that the value was meant to be, each at its own place; if its
 * type, or the word in its field `type`, belongs to no option, one issue with what all options expect.
 */
function unfold(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== "invalid_union") return [issue];
  const at = <T extends z.core.$ZodIssue>(found: T): T => ({ ...found, path: [...issue.path, ...found.path] });
  const isOther = ({ code, path }: z.core.$ZodIssue) => (path.length === 0 ? code === "invalid_type" : path[0] === "type");
  const meant = issue.errors.find((found) => !found.some(isOther));
  if (meant) return meant.flatMap((found) => unfold(at(found)));
  const others = issue.errors.flatMap((found) => found.find(isOther) ?? []) as (z.core.$ZodIssueInvalidType &
    Partial<Pick<z.core.$ZodIssueInvalidValue, "values">>)[];
  const [first] = others;
  if (!first) return [issue];
  const expected = [...new Set(others.map((one) => one.expected))].join(" | ");
  return [at({ ...first, expected, values: others.flatMap(({ values = [] }) => values) })];
}

const toTypeName = ({ expected, message }: z.core.$ZodIssueInvalidType) =>
  expected === "number" && message === "integer" ? message : expected.replace(/^int$/, "integer");

function toViolation(issue: z.core.$ZodIssue, body: unknown): Violation {
  const param = toParam(issue.path);
  const value = valueAt(body, issue.path);
  const missing = value === undefined;
  switch (issue.code) {
    case "invalid_type":
      // JSON's `1e400`.
      if (value === Infinity || value === -Infinity) return { param, rule: "beyond_numbers" };
      return missing ? { param, rule: "required" } : { param, rule: "wrong_type", values: { expected: toTypeName(issue) } };
    case "invalid_value":
      return missing ? { param, rule: "required", allowed: issue.values } : notOneOf(param, issue.values);
    case "too_big":
    case "too_small": {
      const limit = issue.code === "too_big" ? { maximum: Number(issue.maximum) } : { minimum: Number(issue.minimum) };
      const isEmpty = issue.code === "too_small" && issue.minimum === 1;
      const ofText = issue.code === "too_big" ? "too_long" : "blank";
      const ofList = isEmpty ? "blank" : `${issue.code}_list`;
      const rule = issue.origin === "array" ? ofList : issue.origin === "string" ? ofText : issue.code;
      return beyondLimit(param, rule, limit);
    }
    case "custom": {
      const {
        rule,
        values,
        allowed = values,
      } = issue.params as { rule: string; values?: Record<string, string | number>; allowed?: unknown };
      return { param, rule, ...(values && { values }), ...(allowed !== undefined && { allowed }) };
    }
    default:
      return { param, rule: "wrong_form" };
  }
}
