/** The emulated ModelArk's refusals, in the real one's words: docs.byteplus.com/en/docs/ModelArk/1299023. */

import { hasDirective } from "../emulator.ts";

const requestId = "02179075943500777dd13f2098096eba9569e39b59e750c583307";

export const errorBody = (code: string, message: string, param = "", type = "BadRequest") => ({
  code,
  message: `${message} Request id: ${requestId}`,
  param,
  type,
});

export const refuse = (status: number, code: string, message: string, param = "", type = "BadRequest", headers = {}) =>
  Response.json({ error: errorBody(code, message, param, type) }, { status, headers });

export const invalidParameter = (param: string, why = "") =>
  refuse(400, "InvalidParameter", `The parameter \`${param}\` specified in the request is not valid${why && `: ${why}`}.`, param);

export const notFound = (model: string) =>
  refuse(
    404,
    "InvalidEndpointOrModel.NotFound",
    `The model or endpoint ${model} does not exist or you do not have access to it.`,
    "",
    "NotFound",
  );

const tooMany = (code: string, message: string, headers = {}) => refuse(429, code, message, "", "TooManyRequests", headers);

const orders: Record<string, (model: string) => Response> = {
  limit: () =>
    tooMany("RateLimitExceeded.EndpointRPMExceeded", "The Requests Per Minute (RPM) limit of the endpoint is exceeded.", {
      "retry-after": "1",
    }),
  overloaded: () => tooMany("ServerOverloaded", "The service is currently unable to handle additional requests due to server overload."),
  quota: () => tooMany("QuotaExceeded", "Your account has exhausted its free trial quota for the model."),
  "queue-full": () => tooMany("QuotaExceeded", "The request has exceeded the quota."),
  budget: () =>
    tooMany("SetLimitExceeded", "Your account has reached the set inference limit for this model, and the model service has been paused."),
  wallet: () => refuse(403, "AccountOverdueError", "The request failed because your account has an overdue balance.", "", "Forbidden"),
  retired: notFound,
  unopened: (model) => refuse(404, "ModelNotOpen", `Your account has not activated the model ${model}.`, "", "NotFound"),
  "not-activated": () => refuse(403, "OperationDenied.ServiceNotOpen", "The model service has not been activated.", "", "Forbidden"),
  broken: () => refuse(500, "InternalServiceError", "The service encountered an unexpected internal error.", "", "InternalServerError"),
  unavailable: () => refuse(503, "ServiceUnavailable", "The service is unavailable.", "", "ServiceUnavailable"),
  moderated: () =>
    refuse(400, "InputTextSensitiveContentDetected", "The request failed because the input text may contain sensitive information."),
  // Volcengine's own product for risk control, by an account's choice.
  risk: () =>
    refuse(400, "InputTextRiskDetection", "The request could not be processed because the input text includes sensitive content."),
  unchecked: () => refuse(400, "ContentSecurityDetectionError", "The content security detection failed. Please retry later."),
  bare: () => Response.json(errorBody("InputTextSensitiveContentDetected", "The request failed.", "", ""), { status: 400 }),
  face: () =>
    refuse(
      400,
      "InputImageSensitiveContentDetected.PrivacyInformation",
      "The request failed because the input image 'content[1]' may contain real person.",
    ),
  "bad-image": () =>
    refuse(400, "InvalidParameter", "The parameter `image` specified in the request is not valid: failed to download the image.", "image"),
  paramless: () => refuse(400, "InvalidParameter", "A parameter specified in the request is not valid."),
  "no-such-ratio": () =>
    refuse(
      400,
      "InvalidParameter.TaskTypeConstraint",
      "The parameter ratio specified in the request is not valid. For first-frame or first-last-frame generation, the output ratio follows the first-frame image.",
      "ratio",
    ),
};

/** The refusal that the prompt's directive asks for, before anything is accepted. */
export function orderedRefusal(prompt: string, model: string): Response | undefined {
  return Object.entries(orders).find(([word]) => hasDirective(prompt, word))?.[1](model);
}

/** True if ModelArk accepts this image: a public URL, or a data URI with the format in lower case. */
export function isImage(url: unknown): boolean {
  if (typeof url !== "string") return false;
  if (/^https?:\/\//.test(url)) return true;
  const [, format, data = ""] = /^data:image\/(png|jpeg|webp|bmp|tiff|gif);base64,([A-Za-z0-9+/]+={0,2})$/.exec(url) ?? [];
  if (format === undefined || data.length % 4 !== 0) return false;
  const starts: Record<string, string> = { png: "89504e47", jpeg: "ffd8ff", webp: "52494646" };
  return Buffer.from(data, "base64")
    .toString("hex")
    .startsWith(starts[format] ?? "");
}
