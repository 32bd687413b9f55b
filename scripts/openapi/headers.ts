/** The headers of answers. */

import { languages } from "../../src/messages/language.ts";

interface Header {
  description: string;
  schema: object;
  required?: boolean;
  example?: unknown;
}

export const headers = {
  "x-request-id": {
    description: "The id of this request. Give it to the operator when you report a problem.",
    required: true,
    schema: { type: "string" },
    example: "7f3c1e7a-9d59-4c8e-b3a5-000000000001",
  },
  "x-ratelimit-limit-requests": {
    description: "How many requests of this kind the key may make in a minute. Absent if the operator switched the limits off.",
    schema: { type: "integer", minimum: 1 },
    example: 600,
  },
  "x-ratelimit-reset-requests": {
    description: "Seconds until the limit is reset, with the unit.",
    schema: { type: "string", pattern: "^\\d+s$" },
    example: "12s",
  },
  "retry-after": {
    description: "Seconds to wait before the next request.",
    schema: { type: "integer", minimum: 0 },
    example: 3,
  },
  "content-language": {
    description: "The language of the messages in the body.",
    required: true,
    schema: { type: "string", enum: languages },
    example: "en",
  },
  vary: { description: "The request headers that the answer depends on.", schema: { type: "string" }, example: "Accept-Language" },
  "cache-control": {
    description: "Whether and how long the answer may be cached.",
    schema: { type: "string" },
    example: "private, no-cache",
  },
  location: {
    description: "The path of the generic status query of the task; absent with `dry_run=true`.",
    schema: { type: "string", format: "uri-reference" },
    example: "/v1/tasks/task_3FKqS2mV0bWmXv7oLz5R1A",
  },
  etag: {
    description: "Send it as `If-None-Match` to get 304 if nothing has changed.",
    required: true,
    schema: { type: "string" },
    example: 'W/"in_progress-40-1793491200000-en"',
  },
  "idempotent-replayed": {
    description: "`true` if the answer repeats that of an earlier request with the same `Idempotency-Key`.",
    schema: { type: "string", const: "true" },
    example: "true",
  },
  "x-dropped-params": {
    description: "Fields of the body that had no effect, because the model does not take them, separated by commas.",
    schema: { type: "string" },
    example: "user, metadata",
  },
  sunset: {
    description: "When the model ends (RFC 8594); absent as long as no such day is known.",
    schema: { type: "string" },
    example: "Thu, 14 Jan 2027 00:00:00 GMT",
  },
  "www-authenticate": { description: "The authentication scheme.", schema: { type: "string" }, example: "Bearer" },
  "content-length": { description: "Size of the body in bytes.", schema: { type: "integer", minimum: 0 }, example: 1_482_913 },
  "content-range": {
    description: "The range of bytes in the body, and the size of the file.",
    required: true,
    schema: { type: "string" },
    example: "bytes 0-1023/1482913",
  },
  "content-disposition": { description: "Whether to display the body or to save it.", schema: { type: "string" }, example: "inline" },
  "accept-ranges": { description: "Ranges are supported.", schema: { type: "string", const: "bytes" }, example: "bytes" },
  "repr-digest": {
    description: "SHA-256 of the whole file (RFC 9530).",
    required: true,
    schema: { type: "string" },
    example: "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
  },
  "access-control-allow-origin": {
    description: "Every origin may read the answer.",
    schema: { type: "string", const: "*" },
    example: "*",
  },
} satisfies Record<string, Header>;

export type HeaderName = keyof typeof headers;
