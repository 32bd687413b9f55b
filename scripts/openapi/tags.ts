/** The groups of operations, in the order in which they are shown. */

import { fileLife } from "../support/time-words.ts";

export const tags = {
  generations: "Submit images, videos, characters and remixes. Each submission returns a task at once.",
  chat: "Text generation in the format of OpenAI's chat completions.",
  tasks: "Query, list, cancel and delete tasks.",
  receipts:
    "What final tasks were asked for and what they cost, signed. Receipts can be verified offline. And whether a file was made here.",
  characters: "The account's characters; videos use them by `@username`.",
  files: "Images, videos and JSON lines that you upload, for use in submissions and batches.",
  batches: "Many submissions as the lines of one request.",
  models: "The available models: fields, limits and prices.",
  account: "Balance, usage, the calling key, and client tokens.",
  webhooks: "Get a request when a task ends, or list the tasks that ended since you last asked.",
  events: "The requests that the gateway sends to your endpoint.",
  delivery: "The account's buckets, to which tasks with `deliver_to` deliver their files.",
  assets: `The files that tasks make, at signed URLs that work for ${fileLife}.`,
  service: "The gateway's health and status, and this description.",
  admin: "For the operator: accounts, keys and the audit of the ledger.",
} as const;

export type Tag = keyof typeof tags;
