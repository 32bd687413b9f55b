/** The parameters of paths, queries and headers, with the meaning of each. */

interface Parameter {
  description: string;
  example?: unknown;
  schema?: object;
}

const taskId = { type: "string", pattern: "^task_[A-Za-z0-9_-]{1,59}$" };

/** Path parameters, by their name in the braces. */
export const pathParameters: Record<string, Required<Parameter>> = {
  task_id: { description: "The `id` in the submission's answer.", schema: taskId, example: "task_3FKqS2mV0bWmXv7oLz5R1A" },
  video_id: {
    description: "The id of a completed video task of the same account, not made with `private: true`.",
    schema: taskId,
    example: "task_3FKqS2mV0bWmXv7oLz5R1A",
  },
  character_id: { description: "The character's `id`.", schema: { type: "string", pattern: "^ch_" }, example: "ch_9f8e7d6c5b4a" },
  destination: {
    description: "The destination's name.",
    schema: { type: "string", pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" },
    example: "shop",
  },
  model: { description: "A model's name or alias.", schema: { type: "string" }, example: "imgA-4" },
  account_id: { description: "The account's `id`.", schema: { type: "string" }, example: "acc_7d2e9c41" },
  key_id: { description: "The key's `id`.", schema: { type: "string" }, example: "key_51c0b7aa" },
  code: { description: "The `id` of a code or of a series.", schema: { type: "string" }, example: "codes_5XwqT0aL2mQe9RbYc7UdKz" },
  batch_id: {
    description: "The batch's `id`.",
    schema: { type: "string", pattern: "^batch_[A-Za-z0-9_-]{43}$" },
    example: "batch_3FKqS2mV0bWmXv7oLz5R1AqT8yHc4uJd9eKf0gLh2iM",
  },
  sha256: {
    description: "The SHA-256 of the file's bytes, hexadecimal.",
    schema: { type: "string", pattern: "^[0-9A-Fa-f]{64}$" },
    example: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  },
  file_id: {
    description: "The file's `id`.",
    schema: { type: "string", pattern: "^file_[A-Za-z0-9_-]{55}$" },
    example: "file_n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCggq3xT7mPz0kLw",
  },
  file: { description: "The file's name.", schema: { type: "string" }, example: "0-1.png" },
};

/** Parameters in queries; their schemas come from the handlers'. */
export const queryParameters: Record<string, Parameter> = {
  limit: { description: "Maximum number of rows.", example: 20 },
  after: { description: "The `id` of the last row of the previous page, or its `next_after` if it has one." },
  wait: {
    description:
      "Hold the answer until the task is final, or on `/v1/events` until there is an event; at most this many seconds. A submission that waits also counts as a read.",
    example: 30,
  },
  status: { description: "Only tasks with this status.", example: "completed" },
  kind: { description: "Only tasks of this kind.", example: "image" },
  model: { description: "Only tasks of this model; a name or an alias.", example: "imgA-4" },
  reference: { description: "Only tasks that were submitted with this `reference`.", example: "order-1042" },
  dry_run: {
    description: "`true`: checks the request and returns its price or its error. Nothing is reserved, stored or sent.",
    example: false,
  },
  expires_in: { description: "The file's lifetime in seconds; a form may have it as a field. Defaults to 86400.", example: 86_400 },
  revision: { description: "The revision of the model that the change is based on.", example: 7 },
  from: { description: "The first day, UTC. Defaults to 29 days before `to`.", example: "2026-11-01" },
  to: { description: "The last day, UTC; at most 91 days after `from`. Defaults to today.", example: "2026-11-30" },
  group_by: { description: "What each row is the sum of.", example: "day" },
  format: { description: "`focus` returns CSV with the columns of FOCUS 1.3.", example: "json" },
  email: { description: "Only the account with this address." },
  account: { description: "Only this account." },
  series: { description: "Only the codes of this request." },
  act: { description: "Only acts of this name.", example: "key_created" },
  actor: { description: "Only acts of the user or the key with this id." },
  since: { description: "Only acts at this time or later, in Unix seconds.", example: 1_795_219_200 },
  until: { description: "Only acts before this time, in Unix seconds.", example: 1_795_305_600 },
  restored: {
    description:
      "What to do about changes of accounts' access that a restored database lost: `replay` makes them again, `accept` accepts that they are undone. Without it they are only listed.",
  },
};

/** Parameters in headers of requests. */
export const headerParameters = {
  "Accept-Language": {
    description:
      "The language of messages, also in the task's later answers and webhooks. `?language=` comes first; the default is English.",
    schema: { type: "string" },
    example: "ja",
  },
  "Idempotency-Key": {
    description:
      "For 24 hours the same key with the same body returns the same task, batch or secret, charged once. Another body or path is 409; a refused submission does not use up the key.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
    example: "order-1042-cover",
  },
  "If-None-Match": {
    description: "The `ETag` of an earlier answer: 304 if nothing has changed.",
    schema: { type: "string" },
    example: 'W/"in_progress-40-1793491200000-en"',
  },
  "Last-Event-ID": { description: "The `id` of the last received event; browsers send it.", schema: { type: "string" } },
  Range: { description: "One range of bytes.", schema: { type: "string" }, example: "bytes=0-1023" },
  "If-Range": { description: "The `ETag` of the part that is already downloaded.", schema: { type: "string" } },
} satisfies Record<string, Parameter>;

export type HeaderParameter = keyof typeof headerParameters;
