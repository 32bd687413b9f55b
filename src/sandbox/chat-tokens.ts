/** The sandbox's tokens: counting prompts and cutting answers. */

import { type ChatOrder, toText } from "./chat-order.ts";

/** An image, a file or a recording: any part of a message that is not text. */
const PART_TOKENS = 85;

/** Cuts text like a tokenizer: each Chinese, Japanese or Korean character alone, other text into groups of four characters. */
export function toTokens(text: string): string[] {
  return (
    text.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,4}/gu,
    ) ?? []
  );
}

/** The tokens of the whole prompt: three for the start, four and its content for each message, plus tools and format. */
export function countPromptTokens(order: ChatOrder): number {
  const messages = order.messages.map((message) => {
    const parts = Array.isArray(message.content) ? message.content.filter(({ text }) => typeof text !== "string").length : 0;
    return 4 + toTokens(toText(message)).length + parts * PART_TOKENS + countJson(message.tool_calls);
  });
  return messages.reduce((sum, tokens) => sum + tokens, 3) + countJson(order.tools) + countJson(order.response_format);
}

const countJson = (value: unknown) => (value ? toTokens(JSON.stringify(value)).length : 0);
