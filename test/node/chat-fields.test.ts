/** The table of chat fields beside OpenAI's client types. In Node, whose types the client's package wants. */

import type OpenAI from "openai";
import { expect, test } from "vitest";
import type { ChatField } from "../../src/catalog/chat-schema.ts";

test("every field of OpenAI's client types is in the table, and no other", () => {
  type Theirs = keyof OpenAI.Chat.ChatCompletionCreateParams;
  // The compiler looks: with a field missing or too many, these are no empty lists any more.
  const missing: [Exclude<Theirs, ChatField>] extends [never] ? [] : Exclude<Theirs, ChatField> = [];
  const extra: [Exclude<ChatField, Theirs>] extends [never] ? [] : Exclude<ChatField, Theirs> = [];
  expect([missing, extra]).toEqual([[], []]);
});
