/** The parameters of paths, queries and headers, with the meaning of each. */

const text = { type: "string" };
const taskId = { type: "string", pattern: "^task_[A-Za-z0-9_-]{1,59}$" };

/** A parameter with a schema of its own. */
const parameter = (description: string, example?: string, schema: object = text) => ({
  description,
  schema,
  ...(example !== undefined && { example }),
});

/** Path parameters, by their name in the braces. */
export const pathParameters: Record<string, ReturnType<typeof parameter>> = {
  task_id: parameter("The `id` in the submission's answer.", "task_3FKqS2mV0bWmXv7oLz5R1A", taskId),
  video_id: parameter(
    "The id of a completed video task of the same account, not made with `private: true`.",
    "task_3FKqS2mV0bWmXv7oLz5R1A",
    taskId,
  ),
  character_id: parameter("The character's `id`.", "ch_9f8e7d6c5b4a", { type: "string", pattern: "^ch_" }),
  destination: parameter("The destination's name.", "shop", { type: "string", pattern: "^[a-z0-9][a-z0-9_-]{0,62}$" }),
  model: parameter("A model's name or alias.", "imgA-4"),
  account_id: parameter("The account's `id`.", "acc_7d2e9c41"),
  key_id: parameter("The key's `id`.", "key_51c0b7aa"),
  code: parameter("The `id` of a code or of a series.", "codes_5XwqT0aL2mQe9RbYc7UdKz"),
  batch_id: parameter("The batch's `id`.", "batch_3FKqS2mV0bWmXv7oLz5R1AqT8yHc4uJd9eKf0gLh2iM", {
    type: "string",
    pattern: "^batch_[A-Za-z0-9_-]{43}$",
  }),
  sha256: parameter("The SHA-256 of the file's bytes, hexadecimal.", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", {
    type: "string",
    pattern: "^[0-9A-Fa-f]{64}$",
  }),
  file_id: parameter("The file's `id`.", "file_n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCggq3xT7mPz0kLw", {
    type: "string",
    pattern: "^file_[A-Za-z0-9_-]{55}$",
  }),
  file: parameter("The file's name.", "0-1.png"),
};

/** Parameters in queries; their schemas come from the handlers'. */
const query = (description: string, example?: string | number | boolean) => ({ description, ...(example !== undefined && { example }) });

export const queryParameters: Record<string, ReturnType<typeof query>> = {
  limit: query("Maximum number of rows.", 20),
  after: query("The `id` of the last row of the previous page, or its `next_after` if it has one."),
  wait: query(
    "Hold the answer until the task is final, or on `/v1/events` until there is an event; at most this many seconds. A submission that waits also counts as a read.",
    30,
  ),
  status: query("Only tasks with this status.", "completed"),
  kind: query("Only tasks of this kind.", "image"),
  model: query("Only tasks of this model; a name or an alias.", "imgA-4"),
  reference: query("Only tasks that were submitted with this `reference`.", "order-1042"),
  dry_run: query("`true`: checks the request and returns its price or its error. Nothing is reserved, stored or sent.", false),
  expires_in: query("The file's lifetime in seconds; a form may have it as a field. Defaults to 86400.", 86_400),
  revision: query("The revision of the model that the change is based on.", 7),
  from: query("The first day, UTC. Defaults to 29 days before `to`.", "2026-11-01"),
  to: query("The last day, UTC; at most 91 days after `from`. Defaults to today.", "2026-11-30"),
  group_by: query("What each row is the sum of.", "day"),
  format: query("`focus` returns CSV with the columns of FOCUS 1.3.", "json"),
  email: query("Only the account with this address."),
  account: query("Only this account."),
  series: query("Only the codes of this request."),
  act: query("Only acts of this name.", "key_created"),
  actor: query("Only acts of the user or the key with this id."),
  since: query("Only acts at this time or later, in Unix seconds.", 1_795_219_200),
  until: query("Only acts before this time, in Unix seconds.", 1_795_305_600),
  restored: query(
    "What to do about changes of accounts' access that a restored database lost: `replay` makes them again, `accept` accepts that they are undone. Without it they are only listed.",
  ),
};

/** Parameters in headers of requests. */
export const headerParameters = {
  "Accept-Language": parameter(
    "The language of messages, also in the task's later answers and webhooks. `?language=` comes first; the default is English.",
    "ja",
  ),
  "Idempotency-Key": parameter(
    "For 24 hours the same key with the same body returns the same task, batch or secret, charged once. Another body or path is 409; a refused submission does not use up the key.",
    "order-1042-cover",
    { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
  ),
  "If-None-Match": parameter("The `ETag` of an earlier answer: 304 if nothing has changed.", 'W/"in_progress-40-1793491200000-en"'),
  "Last-Event-ID": parameter("The `id` of the last received event; browsers send it."),
  Range: parameter("One range of bytes.", "bytes=0-1023"),
  "If-Range": parameter("The `ETag` of the part that is already downloaded."),
};

export type HeaderParameter = keyof typeof headerParameters;
