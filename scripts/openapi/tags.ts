/** The groups of operations, in the order in which they are shown. */

export const tags = {
  generations: "Submit images, videos, characters and remixes. Each submission returns a task at once.",
  chat: "Text generation in the format of OpenAI's chat completions.",
  tasks: "Query, list, cancel and delete tasks.",
  receipts: "What final tasks were asked for and what they cost, signed. Receipts can be verified offline.",
  characters: "The account's characters; videos use them by `@username`.",
  models: "The available models: fields, limits and prices.",
  account: "Balance, usage, the calling key, and tokens for browsers.",
  callbacks: "Get a request when a task ends, or list the tasks that ended since you last asked.",
  assets: "The files that tasks make, at signed URLs that work for 24 hours.",
  service: "The gateway's health and status, and this description.",
  admin: "For the operator: accounts, keys and the audit of the ledger.",
} as const;

export type Tag = keyof typeof tags;
