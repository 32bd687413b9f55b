/** A chat's answer while it arrives: as events for the page's script, or as a page that browsers render while they receive it. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import { chatPrice, priceFromShown } from "../../catalog/prices.ts";
import { formatAmount } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import { type Message, messagesIn } from "./body.ts";
import type { Typed } from "./fields.ts";
import type { Shown } from "./view.ts";

interface Delta {
  content?: string | null;
  tool_calls?: { function?: { name?: string; arguments?: string } }[];
}

interface Chunk {
  choices?: { delta?: Delta }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
}

/** Requests are streamed, with the usage at the end. */
export const asStream = { stream: true, stream_options: { include_usage: true } };

/** Escapes text for HTML. */
const escaped = (text: string) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** What is known of an answer when it has ended. */
interface Answer {
  text: string;
  /** Tokens, cost and seconds; or that it broke off. */
  used: string;
}

/** The texts of an answer as they arrive; returns the whole. Cancels the upstream when it is no longer read. */
async function* textsOf(c: ConsoleContext, { choice }: Shown, upstream: ReadableStream<Uint8Array>): AsyncGenerator<string, Answer> {
  const start = Date.now();
  let text = "";
  let used = c.var.t("answer_broken");
  try {
    for await (const { data } of upstream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
      if (data === "[DONE]") break;
      const { choices, usage } = JSON.parse(data) as Chunk;
      const said = saidIn(choices?.[0]?.delta ?? {});
      text += said;
      if (said !== "") yield said;
      if (usage) {
        const cost = formatAmount(c, chatPrice(priceFromShown(choice.price), usage.prompt_tokens, usage.completion_tokens));
        const seconds = ((Date.now() - start) / 1000).toFixed(1);
        used = c.var.t("answer_used", {
          model: choice.model,
          input: usage.prompt_tokens,
          output: usage.completion_tokens,
          cost,
          seconds,
        });
      }
    }
  } catch {
    used = c.var.t("answer_broken"); // the API has logged the reason
  }
  return { text, used };
}

/** For a tool call, the tool's name and arguments are shown. */
const saidIn = ({ content, tool_calls: calls = [] }: Delta) =>
  (content ?? "") + calls.map(({ function: called }) => `${called?.name ? `\n${called.name} ` : ""}${called?.arguments ?? ""}`).join("");

/** Continues the conversation: the answer becomes part of it. */
export const answered = (typed: Typed, { text, used }: Answer): Typed =>
  withMessage(typed, { role: "assistant", content: text, used, images: [] });

/** The conversation with one more message. */
export const withMessage = (typed: Typed, draft: Message | undefined): Typed =>
  withMessages(typed, [...messagesIn("messages", typed), ...(draft ? [draft] : [])]);

/** The conversation without its last answer, to be asked again, and what is being written. */
export function withoutAnswer(typed: Typed): { typed: Typed; draft: Message | undefined } {
  const messages = messagesIn("messages", typed);
  const draft = messages.at(-1)?.role === "user" ? messages.pop() : undefined;
  if (messages.at(-1)?.role === "assistant") messages.pop();
  return { typed: withMessages(typed, messages), draft };
}

/** The form with other messages, and without its key. */
function withMessages(typed: Typed, messages: Message[]): Typed {
  const rest = [...typed].filter(([name]) => !name.startsWith("messages.") && name !== "key");
  // The system message is always the first, also when it is empty.
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

/** A stream of what a generator makes, read as slowly as its reader reads; ends the generator when the reader gives up. */
function toStream(parts: AsyncGenerator<string, void>): ReadableStream<Uint8Array> {
  const texts = new ReadableStream<string>(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await parts.return();
      },
    },
    { highWaterMark: 0 },
  );
  return texts.pipeThrough(new TextEncoderStream());
}

/**
 * Streams the page with the API's answer in it. `render` gives the whole page: with a mark in the answer's place, or with the
 * conversation continued. Everything above the answer is sent at once, the part below when the answer is complete.
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
    const texts = textsOf(c, shown, upstream);
    let next = await texts.next();
    for (; !next.done; next = await texts.next()) yield escaped(next.value);
    // The answer is above: what follows it continues the conversation.
    const after = (await render(answered(shown.typed, next.value), mark)).split(mark).at(-1) ?? "";
    yield after;
  }

  // A compressed page would be held back until it is complete.
  const headers = { "content-type": "text/html; charset=UTF-8", "content-encoding": "identity" };
  return c.body(toStream(parts()), 200, headers);
}

/** What the page's script is sent. */
type Event = { html: string; text?: never } | { text: string; html?: never };

/** Answers the page's script: HTML to put in place, then the answer's text as it arrives, then HTML again. */
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
    const texts = textsOf(c, shown, response.body);
    try {
      let next = await texts.next();
      for (; !next.done; next = await texts.next()) yield line({ text: next.value });
      yield line({ html: await parts.done(answered(shown.typed, next.value)) });
    } finally {
      await texts.return({ text: "", used: "" });
    }
  }

  return c.body(toStream(events()), 200, { "content-type": "text/event-stream", "content-encoding": "identity" });
}
