/** The sandbox's tokens: how it counts prompts and cuts answers. */

import type { ChatOrder } from "./chat-order.ts";
import { textOf } from "./chat-order.ts";

/** An image, a file, a recording: any part of a message that is no text. */
const PART_TOKENS = 85;

/** Text cut as a tokenizer might: each Chinese, Japanese or Korean character alone, everything else by fours. */
export function toTokens(text: string): string[] {
  return (
    text.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,4}/gu,
    ) ?? []
  );
}

/** The tokens of everything that a model would read: three to begin with, four and its content for each message, tools, a format. */
export function countPromptTokens(order: ChatOrder): number {
  const messages = order.messages.map((message) => {
    const parts = Array.isArray(message.content) ? message.content.filter(({ text }) => typeof text !== "string").length : 0;
    return 4 + toTokens(textOf(message)).length + parts * PART_TOKENS + countJson(message.tool_calls);
  });
  return messages.reduce((sum, tokens) => sum + tokens, 3) + countJson(order.tools) + countJson(order.response_format);
}

const countJson = (value: unknown) => (value ? toTokens(JSON.stringify(value)).length : 0);
