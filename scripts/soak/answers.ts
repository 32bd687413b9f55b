/** The gateway's answers with the fields that the soak compares. */

import * as z from "zod/mini";

const status = z.enum(["queued", "submitted", "in_progress", "completed", "failed"]);

const character = z.object({ id: z.string(), username: z.string(), profile_picture_url: z.url() });

/** `data` of a task, in the generic query and in the list. */
const taskData = z.object({
  id: z.string(),
  status,
  progress: z.int(),
  metadata: z.object({
    kind: z.enum(["image", "video", "character", "remix"]),
    reserved: z.number(),
    prompt: z.optional(z.string()),
    timestamps: z.optional(z.string()),
    n: z.optional(z.int()),
  }),
  result: z.optional(
    z.object({
      images: z.optional(z.array(z.object({ url: z.array(z.url()) }))),
      videos: z.optional(z.array(z.object({ url: z.array(z.url()), thumbnail: z.optional(z.url()) }))),
      data: z.optional(z.object({ characters: z.array(character) })),
    }),
  ),
  error: z.optional(z.object({ code: z.string() })),
});

/** `GET /v1/tasks/{id}` and the answer to a cancellation. */
export const taskAnswer = z.object({ code: z.literal(200), data: taskData });
/** `GET /v1/tasks`. */
export const taskList = z.object({ data: z.array(taskData), has_more: z.boolean() });
/** The status queries of one kind. */
export const kindStatus = z.object({ id: z.string(), status, progress: z.int() });
/** `GET /v1/characters`. */
export const characterList = z.object({ data: z.array(z.object({ id: z.string() })), has_more: z.boolean() });
/** A wallet in the admin API, in balance units. */
export const wallet = z.object({
  id: z.string(),
  quota: z.nullable(z.number()),
  used: z.number(),
  reserved: z.number(),
  remaining: z.nullable(z.number()),
});
/** `GET /admin/accounts/{id}/keys`. */
export const walletList = z.object({ data: z.array(wallet) });
/** `POST /admin/accounts/{id}/keys`. */
export const newKey = z.object({ id: z.string(), key: z.string() });
/** `GET /admin/audit`. */
export const audit = z.object({ accounts: z.int(), tasks_open: z.int(), reserved: z.number(), drift: z.array(z.unknown()) });

/** A task in any answer. */
export type TaskData = z.infer<typeof taskData>;
/** A wallet in balance units. */
export type Wallet = z.infer<typeof wallet>;
/** The audit's answer. */
export type Audit = z.infer<typeof audit>;
/** Fields that all status answers have. */
export type StatusWord = z.infer<typeof status>;
