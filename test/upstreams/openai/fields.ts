/** OpenAI's errors, the check of a body's fields that precedes everything else, and the directives to refuse. */

import { hasDirective } from "../emulator.ts";

export class Refusal extends Error {
  readonly status: number;
  readonly code: string | null;
  readonly type: string;
  readonly param: string | null;
  readonly more: object;
  readonly headers: Record<string, string>;

  constructor(
    status: number,
    code: string | null,
    message: string,
    {
      type = "invalid_request_error",
      param = null,
      more = {},
      headers = {},
    }: { type?: string; param?: string | null; more?: object; headers?: Record<string, string> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.type = type;
    this.param = param;
    this.more = more;
    this.headers = headers;
  }
}

interface Rule {
  type: "string" | "integer" | "number" | "boolean" | "array" | "object" | "file" | "any";
  required?: boolean;
  oneOf?: string[];
  between?: [number, number];
  maximum?: number;
}

const isOf: Record<Rule["type"], (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  array: (value) => Array.isArray(value) && value.length > 0,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  file: (value) => value instanceof File || (Array.isArray(value) && value.every((one) => one instanceof File)),
  any: () => true,
};

/** The body, if all of its fields are known and valid. */
export function fields(body: Record<string, unknown>, rules: Record<string, Rule>): Record<string, unknown> {
  const refuse = (code: string, message: string, param: string) => new Refusal(400, code, message, { param });
  for (const [name, { required }] of Object.entries(rules))
    if (required && body[name] === undefined) throw refuse("missing_required_parameter", `Missing required parameter: '${name}'.`, name);
  for (const [name, value] of Object.entries(body)) {
    const rule = rules[name];
    if (!rule) throw refuse("unknown_parameter", `Unknown parameter: '${name}'.`, name);
    if (!isOf[rule.type](value)) throw refuse("invalid_type", `Invalid type for '${name}': expected ${rule.type}.`, name);
    if (rule.oneOf && !rule.oneOf.includes(value as string)) throw refuse("invalid_value", `Invalid value: '${String(value)}'.`, name);
    if (rule.between && !(rule.between[0] <= (value as number) && (value as number) <= rule.between[1]))
      throw refuse("integer_above_max_value", `Invalid '${name}'.`, name);
    if (rule.maximum !== undefined && (value as string).length > rule.maximum)
      throw refuse("string_above_max_length", `Invalid '${name}'.`, name);
    if (rule.required && value === "") throw refuse("empty_string", `Invalid '${name}': empty string.`, name);
  }
  return body;
}

/** The directives of every submission, answered in the real API's words. `[hard-limit]`: the project's budget is used up; `[unverified]`: the organization may not use the model. */
export function obey(prompt: string, model: string): void {
  if (hasDirective(prompt, "limit"))
    throw new Refusal(429, "rate_limit_exceeded", "Rate limit reached.", {
      type: "requests",
      headers: { "retry-after": "1", "retry-after-ms": "1000" },
    });
  if (hasDirective(prompt, "wallet"))
    throw new Refusal(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.", {
      type: "insufficient_quota",
    });
  if (hasDirective(prompt, "hard-limit"))
    throw new Refusal(400, "billing_hard_limit_reached", "Billing hard limit has been reached.", { type: "billing_limit_user_error" });
  if (hasDirective(prompt, "retired")) throw noModel(model);
  if (hasDirective(prompt, "unverified"))
    throw new Refusal(403, null, `Your organization must be verified to use the model \`${model}\`. Please go to its settings.`);
  if (hasDirective(prompt, "broken"))
    throw new Refusal(500, "server_error", "The server had an error while processing your request.", { type: "server_error" });
  if (hasDirective(prompt, "unavailable"))
    throw new Refusal(503, null, "The engine is currently overloaded.", { type: "service_unavailable" });
}

export const noModel = (model: string) =>
  new Refusal(404, "model_not_found", `The model \`${model}\` does not exist or you do not have access to it.`);
