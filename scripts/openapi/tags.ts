/** The groups of operations, in the order in which they are shown. */

export const tags = {
  generations: "Submit images, videos, characters and remixes. Each answers at once with a task.",
  chat: "Text generation in the form of OpenAI's chat completions.",
  tasks: "Follow, list and cancel tasks.",
  receipts: "What final tasks were asked for and what they cost, signed, to be verified offline.",
  characters: "The account's characters, to be used in videos by their `@username`.",
  models: "What can be asked for: fields, limits and prices.",
  account: "Balance, usage, the calling key, and tokens for browsers.",
  callbacks: "Be called when a task ends, or read what ended while you were away.",
  assets: "The files that tasks make, under signed URLs that work for 24 hours.",
  service: "Whether the gateway runs, and this description.",
  admin: "For the operator: accounts, keys and the audit of the ledger.",
} as const;

export type Tag = keyof typeof tags;
