/** Google's refusals, in its words, and the checks that its front end makes of every JSON body. */

import type { Context } from "hono";
import { hasDirective } from "../emulator.ts";

const statuses: Record<string, number> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNAVAILABLE: 503,
};

/** Thrown anywhere in an emulator of Google's APIs. */
export class Refused extends Error {
  readonly status: string;
  readonly details: object[] | undefined;
  constructor(status: string, message: string, details?: object[]) {
    super(message);
    this.status = status;
    this.details = details;
  }
}

const type = (name: string) => `type.googleapis.com/google.rpc.${name}`;
export const errorInfo = (reason: string) => ({ "@type": type("ErrorInfo"), reason, domain: "googleapis.com" });

/** The answer to a refused request. `[wrapped]` puts it in an array, as the front end sometimes does. */
export function answerTo(error: unknown, c: Context, prompt = ""): Response {
  if (!(error instanceof Refused)) throw error;
  const code = statuses[error.status];
  const body = { error: { code, message: error.message, status: error.status, ...(error.details && { details: error.details }) } };
  return c.json(hasDirective(prompt, "wrapped") ? [body] : body, code as 400);
}

export const invalid = (message: string) => new Refused("INVALID_ARGUMENT", message);

/** The front end refuses unknown fields. */
export function onlyFields(value: unknown, where: string, allowed: string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid(`Invalid value at '${where}'`);
  for (const name of Object.keys(value))
    if (!allowed.includes(name)) throw invalid(`Invalid JSON payload received. Unknown name "${name}" at '${where}': Cannot find field.`);
  return value as Record<string, unknown>;
}

export function oneOf(value: unknown, where: string, allowed: unknown[]): void {
  if (value !== undefined && !allowed.includes(value)) throw invalid(`Invalid value at '${where}': ${JSON.stringify(value)}`);
}

/** Base64 of an image of this type. */
export function checkImage(data: unknown, mimeType: unknown, where: string): void {
  oneOf(mimeType ?? "none", `${where}.mime_type`, ["image/png", "image/jpeg", "image/webp"]);
  if (typeof data !== "string" || data === "") throw invalid(`Invalid value at '${where}.data' (TYPE_BYTES)`);
  const start = Buffer.from(data, "base64");
  if (start.toString("base64") !== data) throw invalid(`Invalid value at '${where}.data' (TYPE_BYTES), Base64 decoding failed`);
  const isPng = start.subarray(1, 4).toString() === "PNG";
  if ((mimeType === "image/png") !== isPng) throw invalid("Unable to process input image. Please retry or report in the forum.");
}

/** A missing key and a wrong key have different errors. */
export function checkKey(c: Context): void {
  const key = c.req.header("x-goog-api-key") ?? c.req.query("key");
  if (key === undefined)
    throw new Refused("PERMISSION_DENIED", "Method doesn't allow unregistered callers (callers without established identity).");
  if (key !== "test-gemini-key")
    throw new Refused("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [errorInfo("API_KEY_INVALID")]);
}

/** The directives that each submission to Google obeys before it accepts anything. */
export function obeyAtStart(prompt: string, model: string): void {
  if (hasDirective(prompt, "limit"))
    throw new Refused("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [
      { "@type": type("QuotaFailure"), violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }] },
      { "@type": type("RetryInfo"), retryDelay: "1s" },
    ]);
  if (hasDirective(prompt, "wallet"))
    throw new Refused(
      "RESOURCE_EXHAUSTED",
      "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.",
    );
  if (hasDirective(prompt, "retired"))
    throw new Refused("NOT_FOUND", `models/${model} is not found for API version v1beta, or is not supported for this method.`);
  if (hasDirective(prompt, "broken")) throw new Refused("INTERNAL", "An internal error has occurred.");
  if (hasDirective(prompt, "unavailable")) throw new Refused("UNAVAILABLE", "The model is overloaded. Please try again later.");
  if (hasDirective(prompt, "bad-image")) throw invalid("Unable to process input image. Please retry or report in the forum.");
  if (hasDirective(prompt, "region")) throw new Refused("FAILED_PRECONDITION", "User location is not supported for the API use.");
}
