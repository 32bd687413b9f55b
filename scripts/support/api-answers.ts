/** The gateway's answers as the demo reads them: an answer that does not match is an error. */

import * as z from "zod/mini";

/** The answer to a submission. */
export const submission = z.object({
  id: z.string().check(z.startsWith("task_")),
  object: z.literal("generation.task"),
  model: z.string(),
  status: z.literal("queued"),
  progress: z.literal(0),
  created_at: z.int(),
  metadata: z.object({ kind: z.string(), reserved: z.number() }),
});

/** Fields of every status query. */
const status = z.object({
  id: z.string(),
  status: z.enum(["queued", "submitted", "in_progress", "completed", "failed"]),
  progress: z.int().check(z.gte(0), z.lte(100)),
  completed_at: z.optional(z.int()),
  error: z.optional(z.object({ message: z.string() })),
});

/** `GET /v1/tasks/{id}` for an image task. */
export const imageTask = z.object({
  code: z.literal(200),
  data: z.extend(status, {
    result: z.optional(z.object({ images: z.array(z.object({ url: z.array(z.url()), expires_at: z.int() })) })),
  }),
});

/** `GET /v1/videos/generations/{id}`. */
export const videoStatus = z.extend(status, {
  url: z.optional(z.url()),
  thumbnail: z.optional(z.url()),
  duration: z.optional(z.int()),
  size: z.optional(z.string()),
  expires_at: z.optional(z.int()),
});

const character = z.object({ id: z.string().check(z.startsWith("ch_")), username: z.string(), profile_picture_url: z.url() });

/** `GET /v1/characters_tasks/{id}`. */
export const characterStatus = z.extend(status, {
  result: z.optional(z.object({ type: z.literal("character"), data: z.object({ characters: z.array(character) }) })),
});

/** Either balance; `remain_balance` is -1 without a limit. */
export const balance = z.object({ remain_balance: z.number(), used_balance: z.number(), unlimited_quota: z.boolean() });

/** `GET /v1/models`, with the fields that the price list of text models needs. */
export const priceList = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      price: z.object({ input_million_tokens: z.optional(z.number()), output_million_tokens: z.optional(z.number()) }),
    }),
  ),
});

const usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int() });

/** A whole chat answer. */
export const chatAnswer = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })), usage });

/** One event of a chat stream. */
export const chatChunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.nullish(z.string()) }) })),
  usage: z.nullish(usage),
});

/** Fields of all status answers. */
export type Status = z.infer<typeof status>;
/** The token counts of a chat answer. */
export type Usage = z.infer<typeof usage>;
/** Both balances: of the key and of its account. */
export type Balances = Record<"key" | "account", z.infer<typeof balance>>;
/** The models and their prices. */
export type PriceList = z.infer<typeof priceList>;
/** The answer to a submission. */
export type Submission = z.infer<typeof submission>;
/** A video task's status. */
export type VideoStatus = z.infer<typeof videoStatus>;
