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
  model: { description: "A model's name or alias.", schema: { type: "string" }, example: "imgA-4" },
  account_id: { description: "The account's `id`.", schema: { type: "string" }, example: "acc_7d2e9c41" },
  key_id: { description: "The key's `id`.", schema: { type: "string" }, example: "key_51c0b7aa" },
  file: { description: "The file's name.", schema: { type: "string" }, example: "0-1.png" },
};

/** Parameters in queries; their schemas come from the handlers'. */
export const queryParameters: Record<string, Parameter> = {
  language: { description: "The language of messages. Defaults to the best of `Accept-Language`, else English.", example: "en" },
  limit: { description: "Maximum number of rows.", example: 20 },
  after: { description: "The `id` of the last row of the previous page." },
  wait: {
    description: "Hold the answer until the task is final, or on `/v1/events` until there is an event; at most this many seconds.",
    example: 30,
  },
  status: { description: "Only tasks with this status.", example: "completed" },
  kind: { description: "Only tasks of this kind.", example: "image" },
  model: { description: "Only tasks of this model; a name or an alias.", example: "imgA-4" },
  reference: { description: "Only tasks that were submitted with this `reference`.", example: "order-1042" },
  dry_run: {
    description: "`true`: checks the request and returns its price or its error. Nothing is reserved, stored or sent.",
    example: "false",
  },
  from: { description: "The first day, UTC. Defaults to 29 days before `to`.", example: "2026-11-01" },
  to: { description: "The last day, UTC; at most 91 days after `from`. Defaults to today.", example: "2026-11-30" },
  group_by: { description: "What each row is the sum of.", example: "day" },
  format: { description: "`focus` returns CSV with the columns of FOCUS 1.3.", example: "json" },
  email: { description: "Only the account with this address." },
  account: { description: "Only this account." },
};

/** Parameters in headers of requests. */
export const headerParameters = {
  "Idempotency-Key": {
    description:
      "For 24 hours the same key with the same body returns the same task, charged once. Another body or path is 409; a refused submission does not use up the key.",
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
