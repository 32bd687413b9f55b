/** The shape of every JSON answer, once: handlers, console, scripts, tests and `/openapi.json` read these. Amounts in balance units, times in Unix seconds. */

import * as z from "zod/mini";

const count = z.int().check(z.gte(0));
const amount = z.number().check(z.gte(0));
const time = z.int().check(z.gte(0));
const percent = z.int().check(z.gte(0), z.lte(100));
const taskId = z.string().check(z.regex(/^task_[A-Za-z0-9_-]{1,59}$/));
const limited = z.nullable(amount);

/** A page of a list, newest first unless its path says otherwise; `after` of the next page is the last row's `id`. */
const listAnswer = <T extends z.ZodMiniType>(row: T) =>
  z.strictObject({ object: z.literal("list"), data: z.array(row), has_more: z.boolean() });

/* Errors */

const errorObject = z.strictObject({
  message: z.string(),
  type: z.enum([
    "invalid_request",
    "unauthorized",
    "insufficient_quota",
    "task_not_found",
    "content_policy_violation",
    "rate_limit_exceeded",
    "internal_error",
  ]),
  /** The same word as `type` or a finer one. */
  code: z.string(),
  /** The first violated field, dotted and indexed. */
  param: z.nullable(z.string()),
  details: z.optional(z.array(z.strictObject({ param: z.string(), message: z.string(), allowed: z.optional(z.unknown()) }))),
});
export const errorAnswer = z.strictObject({ error: errorObject });
/** Errors of `/v1/tasks`: the same object beside the HTTP status and the message. */
export const taskErrorAnswer = z.strictObject({ code: z.int(), message: z.string(), error: errorObject });
export const balanceErrorAnswer = z.strictObject({ success: z.literal(false), message: z.string() });

/* Tasks */

const status = z.enum(["queued", "in_progress", "completed", "failed"]);

/** The resolved parameters of a submission, with what it is and what was reserved for it. */
const taskMetadata = z.looseObject({
  kind: z.enum(["image", "video", "character", "remix"]),
  reserved: amount,
  source_task: z.optional(taskId),
  /** The caller's own name for the submission. */
  reference: z.optional(z.string()),
});

/** 2.1 of the interface: the answer to every submission. */
export const submission = z.strictObject({
  id: taskId,
  object: z.literal("generation.task"),
  model: z.string(),
  status: z.literal("queued"),
  progress: z.literal(0),
  created_at: time,
  metadata: taskMetadata,
});

/** What a submission or chat would cost, with `?dry_run=true`. */
export const dryRun = z.strictObject({
  object: z.literal("generation.dry_run"),
  model: z.string(),
  kind: z.enum(["chat", "image", "video", "character", "remix"]),
  price: amount,
  /** -1 where there is no limit. */
  remaining_after: z.number().check(z.gte(-1)),
  estimated_time: count,
  metadata: z.looseObject({ kind: z.string(), reserved: amount }),
});

const failure = z.strictObject({
  code: z.enum(["content_policy_violation", "provider_error", "invalid_input", "deadline_exceeded", "cancelled"]),
  message: z.string(),
});

const imageResult = z.strictObject({ images: z.array(z.strictObject({ url: z.array(z.url()), expires_at: time })) });
const videoResult = z.strictObject({
  videos: z.array(
    z.strictObject({
      url: z.array(z.url()),
      thumbnail: z.optional(z.url()),
      duration: count,
      size: z.string(),
      expires_at: time,
    }),
  ),
});
const characterResult = z.strictObject({
  type: z.literal("character"),
  data: z.strictObject({
    characters: z.array(
      z.strictObject({
        id: z.string().check(z.startsWith("ch_")),
        display_name: z.string(),
        profile_picture_url: z.url(),
        username: z.string(),
      }),
    ),
  }),
});

/** `data` of the generic status query. */
const taskData = z.strictObject({
  id: taskId,
  object: z.literal("generation.task"),
  model: z.string(),
  status,
  progress: percent,
  created_at: time,
  estimated_time: z.optional(count),
  metadata: taskMetadata,
  reference: z.optional(z.string()),
  /** What was charged and returned is known once the task is final. */
  cost: z.strictObject({ reserved: amount, charged: z.optional(amount), returned: z.optional(amount) }),
  completed_at: z.optional(time),
  expires_at: z.optional(time),
  result: z.optional(z.union([imageResult, videoResult, characterResult])),
  error: z.optional(failure),
});

/** 2.3: the generic status query. `message` is the error's, of a failed task only. */
export const taskAnswer = z.strictObject({ code: z.literal(200), data: taskData, message: z.optional(z.string()) });
export const taskList = listAnswer(taskData);

/** 2.2: the video status query, where `queued` is called `submitted`. */
export const videoStatus = z.strictObject({
  id: taskId,
  object: z.literal("video.generation"),
  status: z.enum(["submitted", "in_progress", "completed", "failed"]),
  progress: percent,
  model: z.string(),
  created_at: time,
  completed_at: z.optional(time),
  estimated_time: z.optional(count),
  url: z.optional(z.url()),
  thumbnail: z.optional(z.url()),
  duration: z.optional(count),
  size: z.optional(z.string()),
  expires_at: z.optional(time),
  error: z.optional(z.strictObject({ message: z.string() })),
});

/** 2.4: the character status query. */
export const characterStatus = z.strictObject({
  id: taskId,
  object: z.literal("generation.task"),
  model: z.string(),
  status,
  progress: percent,
  created_at: time,
  completed_at: z.optional(time),
  result: z.optional(characterResult),
  metadata: taskMetadata,
  error: z.optional(failure),
});

/* Callbacks and events */

const eventId = z.string().check(z.regex(/^evt_[A-Za-z0-9_-]{1,59}$/));
const eventTypes = z.enum(["task.completed", "task.failed"]);

/** The body of a callback; `timestamp` (ISO 8601) is when the task became final. */
export const taskEvent = z.strictObject({ type: eventTypes, timestamp: z.iso.datetime(), data: taskData });
/** The body of a test event. */
export const testEvent = z.strictObject({ type: z.literal("test"), timestamp: z.iso.datetime(), data: z.strictObject({}) });

/** One call of a receiver: its HTTP status, or the fault that left it without one. */
const attemptFields = {
  at: time,
  /** Milliseconds from the call to the status or fault. */
  ms: count,
  status: z.optional(z.int()),
  fault: z.optional(z.enum(["timeout", "unreachable", "blocked_url", "interrupted"])),
};
/** The callback of a task: where it goes, how it stands and its latest attempts, oldest first. */
export const taskCallback = z.strictObject({
  object: z.literal("task.callback"),
  task: taskId,
  /** The `webhook-id` of every attempt. */
  event: eventId,
  /** Where the next attempt would go; null when there is no address. */
  url: z.nullable(z.string()),
  /** `gone` after the receiver answered 410, `failed` after the last attempt; `none` when the task was never called back. */
  state: z.enum(["none", "pending", "delivered", "gone", "failed"]),
  next_attempt_at: z.optional(time),
  attempts: z.array(z.strictObject(attemptFields)),
});
export const webhook = z.strictObject({ url: z.nullable(z.string()) });
export const webhookSecret = z.strictObject({ secret: z.string().check(z.startsWith("whsec_")) });
export const webhookTest = z.strictObject({ object: z.literal("webhook.test"), url: z.string(), delivered: z.boolean(), ...attemptFields });
/** The account's ended tasks, oldest first. */
export const eventList = listAnswer(z.strictObject({ id: eventId, type: eventTypes, at: time, task: taskId }));

/* Receipts */

const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
/** What a final task was asked for, what it cost and what came of it; what its record does not know is null. */
const receipt = z.strictObject({
  object: z.literal("generation.receipt"),
  id: taskId,
  account: z.string(),
  kind: z.enum(["image", "video", "character", "remix"]),
  model: z.string(),
  reference: z.nullable(z.string()),
  status: z.enum(["completed", "failed"]),
  created_at: time,
  started_at: z.nullable(time),
  ended_at: time,
  /** SHA-256 of the request's body in canonical JSON (RFC 8785), inline images as they were sent. */
  request_sha256: z.nullable(sha256),
  /** The prices that were used; equal tables have equal versions. */
  price: z.nullable(z.strictObject({ unit: z.enum(["USD", "CNY", "TOKENS"]), version: z.string(), amounts: z.record(z.string(), amount) })),
  reserved: amount,
  charged: amount,
  returned: amount,
  /** How many upstreams were asked. */
  attempts: count,
  files: z.array(z.strictObject({ name: z.string(), type: z.string(), bytes: count, sha256 })),
});
/** The receipt, and the same as a compact JWS (EdDSA). */
export const receiptAnswer = z.strictObject({ receipt, jws: z.string().check(z.regex(/^[\w-]+\.[\w-]+\.[\w-]{86}$/)) });
/** The keys that verify receipts, the newest first. */
export const receiptKeys = z.strictObject({
  keys: z.array(
    z.strictObject({
      kty: z.literal("OKP"),
      crv: z.literal("Ed25519"),
      x: z.string(),
      kid: z.string(),
      alg: z.literal("EdDSA"),
      use: z.literal("sig"),
    }),
  ),
});

/** A token for browsers; shown this once. */
export const newToken = z.strictObject({ token: z.string().check(z.regex(/^st-[\w-]{71}$/)), expires_at: time });

/* Account */

export const balance = z.strictObject({
  success: z.literal(true),
  /** -1 where there is no limit. */
  remain_balance: z.number().check(z.gte(-1)),
  used_balance: amount,
  unlimited_quota: z.boolean(),
});

/** Usage by one of four; a `reference` of null is everything without one. */
const used = { charged: amount, returned: amount, completed: count, failed: count };
export const usageList = z.strictObject({
  object: z.literal("list"),
  data: z.union([
    z.array(z.strictObject({ day: z.string().check(z.regex(/^\d{4}-\d{2}-\d{2}$/)), ...used })),
    z.array(z.strictObject({ model: z.string(), ...used })),
    z.array(z.strictObject({ key: z.string(), ...used })),
    z.array(z.strictObject({ reference: z.nullable(z.string()), ...used })),
  ]),
});

const character = z.strictObject({
  id: z.string().check(z.startsWith("ch_")),
  object: z.literal("character"),
  username: z.string(),
  display_name: z.string(),
  profile_picture_url: z.url(),
  expires_at: time,
  model: z.string(),
  created_at: time,
});
export const characterList = listAnswer(character);

/* Models */

const jsonSchema = z.looseObject({ type: z.string(), properties: z.record(z.string(), z.unknown()), required: z.array(z.string()) });
export const modelEntry = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: time,
  owned_by: z.string(),
  kind: z.enum(["chat", "image", "video"]),
  aliases: z.array(z.string()),
  /** JSON Schema of the model's own request body. */
  parameters: jsonSchema,
  /** JSON Schemas of the bodies of its other actions. */
  actions: z.optional(z.strictObject({ character: z.optional(jsonSchema), remix: z.optional(jsonSchema) })),
  /** Balance units by what is counted: `image`, `second`, `character`, `input_million_tokens`, ... */
  price: z.record(z.string(), amount),
});
export const modelList = z.strictObject({ object: z.literal("list"), data: z.array(modelEntry) });

/* Operator */

/** What a key may be used for; null is no limit. */
const scopeShape = { models: z.nullable(z.array(z.string())), kinds: z.nullable(z.array(z.string())), max_open_tasks: z.nullable(count) };
const quotaFields = { quota: limited, used: amount, reserved: amount, remaining: limited };
export const account = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.nullable(z.string()),
  disabled: z.boolean(),
  admin: z.boolean(),
  created_at: time,
  ...quotaFields,
});
export const accountList = listAnswer(account);
export const apiKey = z.strictObject({
  ...scopeShape,
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  prefix: z.string(),
  created_at: time,
  expires_at: z.nullable(time),
  ...quotaFields,
});
export const apiKeyList = listAnswer(apiKey);
/** The calling key. */
export const ownKey = z.strictObject({
  id: z.string(),
  object: z.literal("key"),
  name: z.string(),
  prefix: z.string(),
  created_at: time,
  expires_at: z.nullable(time),
  ...quotaFields,
  ...scopeShape,
  open_tasks: count,
});
/** The only answer that shows the key itself. */
export const newApiKey = z.extend(apiKey, { key: z.string().check(z.startsWith("sk-")) });
export const invitation = z.strictObject({ url: z.url(), expires_at: time });
export const audit = z.strictObject({
  accounts: count,
  tasks_open: count,
  reserved: amount,
  drift: z.array(
    z.strictObject({ id: z.string(), reserved: z.number(), used: z.number(), ledger_reserved: z.number(), ledger_used: z.number() }),
  ),
  progress: z.strictObject({
    complete: z.boolean(),
    accounts_checked: z.int(),
    entries_checked: z.int(),
    account: z.nullable(z.string()),
    started_at: z.int(),
  }),
});

/* Readiness */

export const readyAnswer = z.strictObject({ status: z.literal("ok") });
/** With the names of what did not answer. */
export const notReadyAnswer = z.strictObject({
  status: z.literal("unavailable"),
  failing: z.array(z.enum(["database", "bucket", "object"])).check(z.minLength(1)),
});
