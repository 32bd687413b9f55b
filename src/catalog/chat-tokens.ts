/** The maximum number of tokens of a chat, from which its reservation is computed. Pure. */

import { byteLength } from "../base/byte-length.ts";
import { type ChatBody, type ChatPart, toForwarded } from "./chat-schema.ts";
import type { Price } from "./models.ts";
import { chatPrice } from "./prices.ts";

/** The longest answer in tokens if the caller sets no limit. */
const defaultMaxTokens = 4096;

/** The answer's limit in tokens; exactly this number is sent to the upstream. */
function maxTokens({ max_completion_tokens: limit, max_tokens: older }: ChatBody): number {
  return limit === undefined && older === undefined ? defaultMaxTokens : Math.min(limit ?? Infinity, older ?? Infinity);
}

/**
 * Tokens of an image by its detail: makers scale to 512 pixels (low), 2.56 megapixels (high) or 10.24 (original, and if the maker
 * chooses), cut into squares of 32 pixels, which small models count 1.62 times (platform.openai.com, images and vision).
 */
const imageTokens = { low: 512, high: 4_096, auto: 16_384, original: 16_384 };
/** A compressed file (a PDF) may contain any amount of text: only the largest context window limits its tokens. */
const fileTokens = 1_050_000;
/** Tokens per Base64 character of audio. Makers count at most 50 tokens a second, and a second has at least 1,000 bytes (MP3 of 8 kbit/s). */
const audioCharactersPerToken = 8;
/** Tokens that chat templates add to a message, to tools and schemas, and to each tool. */
const messageOverhead = 16;
const toolsOverhead = 512;
const toolOverhead = 32;

const encoder = new TextEncoder();
const pieceCharacters = 64 * 1024;
/** Counting the bytes of a shorter text is faster than encoding it. */
const countedCharacters = 1024;

/**
 * The UTF-8 bytes of a text, counted piece by piece because it may have 10 MiB; up to two too many for each character that is split between
 * two pieces.
 */
function countBytes(text: string): number {
  if (text.length <= countedCharacters) return byteLength(text);
  let bytes = 0;
  for (let at = 0; at < text.length; at += pieceCharacters) bytes += encoder.encode(text.slice(at, at + pieceCharacters)).length;
  return bytes;
}

function partTokens(part: ChatPart): number {
  switch (part.type) {
    case "text":
      return countBytes(part.text);
    case "refusal":
      return countBytes(part.refusal);
    case "image_url":
      return imageTokens[part.image_url.detail ?? "auto"];
    case "input_audio":
      return Math.ceil(part.input_audio.data.length / audioCharactersPerToken);
    case "file":
      return fileTokens + countBytes(part.file.filename ?? "");
  }
}

/**
 * An upper bound of the prompt's tokens. A token of a byte-level vocabulary has at least one byte, so every byte of text that
 * is sent to the upstream counts as one; images, audio and files have their own bounds.
 */
function estimatePromptTokens(body: ChatBody, forwarded: Record<string, unknown>): number {
  const { messages: _, ...settings } = forwarded;
  const tools = (body.tools?.length ?? 0) + (body.functions?.length ?? 0);
  const isTemplated = tools > 0 || body.response_format !== undefined;
  let total = messageOverhead + countBytes(JSON.stringify(settings)) + (isTemplated ? toolsOverhead : 0) + tools * toolOverhead;
  for (const { content = "", audio: _audio, ...rest } of body.messages) {
    total += messageOverhead + countBytes(JSON.stringify(rest));
    if (typeof content === "string") total += countBytes(content);
    else for (const part of content) total += partTokens(part);
  }
  return total;
}

/** The amount that a chat reserves, in millionths: for the whole prompt and the longest answer. `forwarded` are the fields that `toForwarded` returns. */
export function chatReservation(
  price: Price,
  body: ChatBody,
  forwarded = toForwarded(body),
): { promptTokens: number; maxTokens: number; amount: number } {
  const promptTokens = estimatePromptTokens(body, forwarded);
  const limit = maxTokens(body);
  return { promptTokens, maxTokens: limit, amount: chatPrice(price, promptTokens, limit) };
}

/** The longest duration of a chat. */
export const chatDeadlineMs = 600_000;
