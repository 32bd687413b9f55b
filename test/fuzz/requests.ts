/** Arbitrary requests: bodies of JSON and of other bytes, and paths, queries and headers similar to known ones. */

import * as fc from "fast-check";
import { anyFields, inheritedNames, json, text } from "./arbitraries.ts";

const fieldNames = [
  "model",
  "prompt",
  "size",
  "n",
  "quality",
  "images",
  "image_with_roles",
  "metadata",
  "duration",
  "url",
  "from_task",
  "timestamps",
  "messages",
  "stream",
  "stop",
  "tools",
  "logit_bias",
  "email",
  "name",
  "quota",
  "add",
  "disabled",
  "expires_at",
  "callback_url",
];
const modelNames = ["textA-1", "imgA-4", "vidA-2", "vidB-3.1-fast", "vidC-1-0-pro-fast", "vidD-02"];
const known = fc.oneof(json, text, fc.constantFrom(...modelNames), fc.double(), fc.maxSafeInteger(), fc.array(json, { maxLength: 12 }));
const fields = anyFields(
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...fieldNames) }, text, fc.constantFrom(...inheritedNames)),
  known,
  8,
);
const deep = fc
  .tuple(fc.constantFrom(...fieldNames), fc.nat(3000), fc.boolean())
  .map(([name, depth, asArray]) =>
    asArray ? `{"${name}":${"[".repeat(depth)}1${"]".repeat(depth)}}` : `{"${name}":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
  );
const withModel = fc.tuple(fields, fc.constantFrom(...modelNames)).map(([some, model]) => ({ ...some, model }));
/** Body texts: any JSON, JSON with known fields, deep JSON, and text that is not JSON. */
export const bodies = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  fields.map((value) => JSON.stringify(value)),
  withModel.map((value) => JSON.stringify(value)),
  deep,
  text,
);

/** A header value: Latin-1 without control characters, as HTTP allows. */
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code < 0x7f || code > 0x9f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
const some = (...values: string[]) => fc.option(fc.oneof(fc.constantFrom(...values), headerText), { nil: undefined });
export const segment = fc.oneof(
  fc.constantFrom(
    "v1",
    "tasks",
    "videos",
    "generations",
    "remix",
    "cancel",
    "admin",
    "accounts",
    "keys",
    "assets",
    "characters",
    "balance",
  ),
  text.map((word) => encodeURIComponent(word.toWellFormed())),
  fc.constantFrom("", "%", "%2F", "%00", "%E0%A4%A", "%ff", "..", "%2e%2e", "*", ":id", "task_", `task_${"A".repeat(43)}`),
);
export const paths = [
  "/v1/chat/completions",
  "/v1/images/generations",
  "/v1/videos/generations",
  "/v1/videos/{video}/remix",
  "/v1/videos/generations/{video}",
  "/v1/tasks",
  "/v1/tasks/{video}",
  "/v1/tasks/{video}/cancel",
  "/v1/characters_tasks/{video}",
  "/v1/models",
  "/v1/characters",
  "/healthz",
  "/v1/balance",
  "/balance",
  "/v1/user/balance",
  "/user/balance",
  "/admin/accounts",
  "/admin/audit",
  "/admin/accounts/{account}/keys",
];
export const query = fc
  .record(
    {
      wait: some("1", "60", "0", "61", "1e1"),
      language: some("zh", "ko", "xx"),
      limit: some("1", "100", "0", "101", "-1"),
      after: some("{video}"),
      status: some("completed", "queued"),
      kind: some("video"),
      email: some("a@b.example"),
    },
    { requiredKeys: [] },
  )
  .map((values) =>
    new URLSearchParams(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)).toString(),
  );
export const headers = fc.record(
  {
    authorization: some("Bearer {key}", "Bearer test-admin", "bearer  {key} ", "Basic eDp5", "Bearer"),
    range: some("bytes=0-9", "bytes=-1", "bytes=9-1", "bytes=99999999-"),
    "idempotency-key": some("", "one", "x".repeat(256)),
    "if-none-match": some("*", 'W/"a", "b"'),
    "if-range": some('"a"'),
    "accept-language": some("zh-CN,ko;q=0.9", "*;q=x", "ja;q=-1"),
    "content-type": some("application/json", "text/plain", ""),
    origin: some("https://site.example"),
    "x-forwarded-for": some("1.2.3.4"),
  },
  { requiredKeys: [] },
);
