/** A chat's answer while it arrives: as events for the page's script, or as a page that browsers render while it arrives. */

import type { ConsoleContext } from "../context.ts";
import { EventSourceParserStream } from "eventsource-parser/stream";
import { toStream } from "../../base/to-stream.ts";
import { chatPrice, priceFromShown } from "../../catalog/prices.ts";
import { formatAmount } from "../amounts.ts";
import { type Message, messagesIn } from "./body.ts";
import type { Choice } from "./choices.ts";
import type { Typed } from "./fields.ts";
import type { Shown } from "./view.ts";

interface Delta {
  content?: string | null;
  tool_calls?: { function?: { name?: string; arguments?: string } }[];
}

interface Chunk {
  choices?: { delta?: Delta }[];
  usage?: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } | null } | null;
}

/** Chats are requested as streams, with the usage at the end. */
export const asStream = { stream: true, stream_options: { include_usage: true } };

/** Escapes text for HTML. */
const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** An answer that has ended; without `use` it broke off. */
interface Ended {
  text: string;
  /** Tokens, millionths and milliseconds. */
  use?: { input: number; output: number; cost: number; ms: number };
}

/** Yields the text of a chat's answer as it arrives; returns the whole answer. Cancels the upstream if the reader stops. */
export async function* readAnswer({ price }: Pick<Choice, "price">, upstream: ReadableStream<Uint8Array>): AsyncGenerator<string, Ended> {
  const start = Date.now();
  const ended: Ended = { text: "" };
  try {
    for await (const { data } of upstream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
      if (data === "[DONE]") break;
      const { choices, usage } = JSON.parse(data) as Chunk;
      const said = saidIn(choices?.[0]?.delta ?? {});
      ended.text += said;
      if (said !== "") yield said;
      if (usage) {
        const { prompt_tokens: input, completion_tokens: output, prompt_tokens_details: details } = usage;
        const cost = chatPrice(priceFromShown(price), input, output, details?.cached_tokens);
        ended.use = { input, output, cost, ms: Date.now() - start };
      }
    }
  } catch {
    delete ended.use; // the API has logged the reason
  }
  return ended;
}

/** An answer in the form's conversation. */
interface Answer {
  text: string;
  /** Tokens, cost and seconds; or a message that the answer broke off. */
  used: string;
}

/** The answer with its facts in words. */
async function* readTexts(c: ConsoleContext, { choice }: Shown, upstream: ReadableStream<Uint8Array>): AsyncGenerator<string, Answer> {
  const { text, use } = yield* readAnswer(choice, upstream);
  if (!use) return { text, used: c.var.t("answer_broken") };
  const { input, output, ms } = use;
  const facts = { model: choice.model, input, output, cost: formatAmount(c, use.cost), seconds: (ms / 1000).toFixed(1) };
  return { text, used: c.var.t("answer_used", facts) };
}

/** For a tool call, the tool's name and arguments are shown. */
const saidIn = ({ content, tool_calls: calls = [] }: Delta) =>
  (content ?? "") + calls.map(({ function: called }) => `${called?.name ? `\n${called.name} ` : ""}${called?.arguments ?? ""}`).join("");

/** The conversation with the answer added to it. */
export const answered = (typed: Typed, { text, used }: Answer): Typed =>
  withMessage(typed, { role: "assistant", content: text, used, images: [] });

/** The conversation with one more message. */
export const withMessage = (typed: Typed, draft: Message | undefined): Typed =>
  withMessages(typed, [...messagesIn("messages", typed), ...(draft ? [draft] : [])]);

/** The conversation without its last answer, to request it again, and the unsent text. */
export function withoutAnswer(typed: Typed): { typed: Typed; draft: Message | undefined } {
  const messages = messagesIn("messages", typed);
  const draft = messages.at(-1)?.role === "user" ? messages.pop() : undefined;
  if (messages.at(-1)?.role === "assistant") messages.pop();
  return { typed: withMessages(typed, messages), draft };
}

/** The form with other messages, and without its key. */
function withMessages(typed: Typed, messages: Message[]): Typed {
  const rest = [...typed].filter(([name]) => !name.startsWith("messages.") && name !== "key");
  // The first message is always the system message, also if it is empty.
  const all = messages[0]?.role === "system" ? messages : [{ role: "system", content: "", used: "", images: [] }, ...messages];
  return new Map([
    ...rest,
    ...all.flatMap(({ role, content, used, images }, at): [string, string[]][] => [
      [`messages.${at}.role`, [role]],
      [`messages.${at}.content`, [content]],
      [`messages.${at}.used`, [used]],
      ...images.map((uri, place): [string, string[]] => [`messages.${at}.image.${place}`, [uri]]),
    ]),
  ]);
}

export const toTextStream = (texts: AsyncGenerator<string, void>): ReadableStream<Uint8Array> =>
  toStream(texts).pipeThrough(new TextEncoderStream());

/**
 * Streams the page with the API's answer in it. `render` returns the whole page: with a marker in the answer's place, or with the
 * conversation continued. Everything above the answer is sent at once, the part below it when the answer is complete.
 */
export async function writtenPage(
  c: ConsoleContext,
  shown: Shown,
  upstream: ReadableStream<Uint8Array>,
  render: (typed: Typed, mark: string) => Promise<string>,
): Promise<Response> {
  const mark = crypto.randomUUID();
  const [above = ""] = (await render(shown.typed, mark)).split(mark);

  async function* parts(): AsyncGenerator<string, void> {
    yield above;
    const texts = readTexts(c, shown, upstream);
    let next = await texts.next();
    for (; !next.done; next = await texts.next()) yield escaped(next.value);
    // The answer has been sent; the rest of the page continues the conversation.
    const after = (await render(answered(shown.typed, next.value), mark)).split(mark).at(-1) ?? "";
    yield after;
  }

  // A compressed page would be buffered until it is complete.
  const headers = { "content-type": "text/html; charset=UTF-8", "content-encoding": "identity" };
  return c.body(toTextStream(parts()), 200, headers);
}

/** The events for the page's script. */
type Event = { html: string; text?: never } | { text: string; html?: never };

/** Answers the page's script: HTML to insert, then the answer's text as it arrives, then HTML again. */
export function answerEvents(
  c: ConsoleContext,
  shown: Shown,
  ask: () => Promise<Response>,
  parts: { waiting: () => Promise<string>; refused: (response: Response) => Promise<string>; done: (typed: Typed) => Promise<string> },
): Response {
  const line = (event: Event) => `data: ${JSON.stringify(event)}\n\n`;

  async function* events(): AsyncGenerator<string, void> {
    yield line({ html: await parts.waiting() });
    const response = await ask();
    if (!response.ok || !response.body) {
      yield line({ html: await parts.refused(response) });
      return;
    }
    const texts = readTexts(c, shown, response.body);
    try {
      let next = await texts.next();
      for (; !next.done; next = await texts.next()) yield line({ text: next.value });
      yield line({ html: await parts.done(answered(shown.typed, next.value)) });
    } finally {
      await texts.return({ text: "", used: "" });
    }
  }

  return c.body(toTextStream(events()), 200, { "content-type": "text/event-stream", "content-encoding": "identity" });
}
