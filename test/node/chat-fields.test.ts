/** Compares the table of chat fields with OpenAI's client types. In Node, because the client package needs its types. */

import type OpenAI from "openai";
import { expect, test } from "vitest";
import type { ChatField } from "../../src/catalog/chat-schema.ts";

test("every field of OpenAI's client types is in the table, and no other", () => {
  type Theirs = keyof OpenAI.Chat.ChatCompletionCreateParams;
  // The compiler checks this: with a missing or an extra field, these lists are not empty.
  const missing: [Exclude<Theirs, ChatField>] extends [never] ? [] : Exclude<Theirs, ChatField> = [];
  const extra: [Exclude<ChatField, Theirs>] extends [never] ? [] : Exclude<ChatField, Theirs> = [];
  expect([missing, extra]).toEqual([[], []]);
});
