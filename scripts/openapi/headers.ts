/** The headers of answers. */

import { languages } from "../../src/messages/language.ts";

const text = { type: "string" };

const header = (description: string, example: unknown, schema: object = text, required = false) => ({
  description,
  ...(required && { required }),
  schema,
  example,
});

export const headers = {
  "x-request-id": header(
    "The id of this request. Give it to the operator when you report a problem.",
    "7f3c1e7a-9d59-4c8e-b3a5-000000000001",
    text,
    true,
  ),
  "x-ratelimit-limit-requests": header(
    "How many requests of this kind the key may make in a minute. Absent if the operator switched the limits off.",
    600,
    { type: "integer", minimum: 1 },
  ),
  "x-ratelimit-reset-requests": header("Seconds until the limit is reset, with the unit.", "12s", { type: "string", pattern: "^\\d+s$" }),
  "retry-after": header("Seconds to wait before the next request.", 3, { type: "integer", minimum: 0 }),
  "content-language": header("The language of the messages in the body.", "en", { type: "string", enum: languages }, true),
  vary: header("The request headers that the answer depends on.", "Accept-Language"),
  "cache-control": header("Whether and how long the answer may be cached.", "private, no-cache"),
  location: header(
    "The path of the generic status query of the task; absent with `dry_run=true`.",
    "/v1/tasks/task_3FKqS2mV0bWmXv7oLz5R1A",
    { type: "string", format: "uri-reference" },
  ),
  etag: header("Send it as `If-None-Match` to get 304 if nothing has changed.", 'W/"in_progress-40-1793491200000-en"', text, true),
  "idempotent-replayed": header("`true` if the answer repeats that of an earlier request with the same `Idempotency-Key`.", "true", {
    type: "string",
    const: "true",
  }),
  "x-dropped-params": header(
    "Fields of the body that had no effect, because the model does not take them, separated by commas.",
    "user, metadata",
  ),
  sunset: header("When the model ends (RFC 8594); absent as long as no such day is known.", "Thu, 14 Jan 2027 00:00:00 GMT"),
  "www-authenticate": header("The authentication scheme.", "Bearer"),
  "content-length": header("Size of the body in bytes.", 1_482_913, { type: "integer", minimum: 0 }),
  "content-range": header("The range of bytes in the body, and the size of the file.", "bytes 0-1023/1482913", text, true),
  "content-disposition": header("Whether to display the body or to save it.", "inline"),
  "accept-ranges": header("Ranges are supported.", "bytes", { type: "string", const: "bytes" }),
  "repr-digest": header("SHA-256 of the whole file (RFC 9530).", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", text, true),
  "access-control-allow-origin": header("Every origin may read the answer.", "*", { type: "string", const: "*" }),
};

export type HeaderName = keyof typeof headers;
