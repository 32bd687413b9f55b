/** Chat completions as OpenAI shapes them: a short answer that quotes the question, whole or piece by piece. */

import * as z from "zod";

const contentPart = z.looseObject({ type: z.string(), text: z.string().optional() });

/** What of OpenAI's request the sandbox knows; the rest is ignored. */
export const chatOrder = z.object({
  model: z.string().min(1),
  messages: z
    .array(z.object({ role: z.string().min(1), content: z.union([z.string(), z.array(contentPart)]).nullish() }))
    .min(1)
    .max(10_000),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
});

export type ChatOrder = z.infer<typeof chatOrder>;

const QUOTE_CHARACTERS = 400;
const PIECES_PER_CHUNK = 4;
const PAUSE_MS = 30;
const IMAGE_TOKENS = 85;

/** The text of the last message; what it holds besides text is left out. */
export function lastMessage(order: ChatOrder): string {
  return textOf(order.messages.at(-1)?.content);
}

/** The whole answer, `chat.completion`. */
export function complete(order: ChatOrder, now: number) {
  const { pieces, finishReason, usage } = answer(order);
  const message = { role: "assistant", content: pieces.join(""), refusal: null };
  return { ...headOf(order, now, "chat.completion"), choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason }], usage };
}

/** The same answer as server-sent events: `chat.completion.chunk` with short pauses between, then `[DONE]`. */
export function streamed(order: ChatOrder, now: number): ReadableStream<Uint8Array> {
  const { pieces, finishReason, usage } = answer(order);
  const withUsage = order.stream_options?.include_usage === true;
  const head = headOf(order, now, "chat.completion.chunk");
  const chunk = (delta: object, finish: string | null) =>
    JSON.stringify({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }], ...(withUsage && { usage: null }) });
  const events = [chunk({ role: "assistant", content: "" }, null)];
  for (let at = 0; at < pieces.length; at += PIECES_PER_CHUNK) {
    events.push(chunk({ content: pieces.slice(at, at + PIECES_PER_CHUNK).join("") }, null));
  }
  events.push(chunk({}, finishReason));
  if (withUsage) events.push(JSON.stringify({ ...head, choices: [], usage }));
  events.push("[DONE]");

  const encoder = new TextEncoder();
  let next = 0;
  return new ReadableStream({
    async pull(controller) {
      if (next > 0) await scheduler.wait(PAUSE_MS);
      controller.enqueue(encoder.encode(`data: ${events[next++]}\n\n`));
      if (next === events.length) controller.close();
    },
  });
}

function answer(order: ChatOrder) {
  const question = lastMessage(order).trim();
  const quote = question.length > QUOTE_CHARACTERS ? `${question.slice(0, QUOTE_CHARACTERS).toWellFormed()}…` : question;
  const text = `This is the sandbox answering in place of ${order.model}. You wrote: “${quote}” No model was asked, so this is all there is to say.`;
  const all = tokensOf(text);
  const most = order.max_completion_tokens ?? order.max_tokens ?? all.length;
  const pieces = all.slice(0, most);
  const promptTokens = order.messages.reduce((sum, { content }) => sum + 4 + countTokens(content), 3);
  return {
    pieces,
    finishReason: pieces.length < all.length ? "length" : "stop",
    usage: { prompt_tokens: promptTokens, completion_tokens: pieces.length, total_tokens: promptTokens + pieces.length },
  };
}

function headOf(order: ChatOrder, now: number, object: "chat.completion" | "chat.completion.chunk") {
  return { id: `chatcmpl-${crypto.randomUUID()}`, object, created: Math.floor(now / 1000), model: order.model };
}

type Content = ChatOrder["messages"][number]["content"];

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap(({ text }) => text ?? []).join("\n");
}

function countTokens(content: Content): number {
  const pictures = Array.isArray(content) ? content.filter(({ text }) => text === undefined).length : 0;
  return tokensOf(textOf(content)).length + pictures * IMAGE_TOKENS;
}

/** Text cut as a tokenizer might: each Chinese, Japanese or Korean character alone, everything else by fours. */
function tokensOf(text: string): string[] {
  return (
    text.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{1,4}/gu,
    ) ?? []
  );
}
