/** A chat's answer on the page, written while it arrives: browsers render a page while it is received, without script. */

import { EventSourceParserStream } from "eventsource-parser/stream";
import { chatPrice, priceFromShown } from "../../catalog/prices.ts";
import type { ConsoleContext } from "../frame.tsx";
import type { Typed } from "./fields.ts";
import { amountOf } from "../amounts.ts";
import { playgroundPage, type Shown } from "./page.tsx";

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

/**
 * Streams the page with the API's answer in it. Everything above the answer is sent at once; the part below, including the form,
 * continues the conversation and is rendered when the answer is complete.
 */
export async function writtenPage(c: ConsoleContext, shown: Shown, upstream: ReadableStream<Uint8Array>): Promise<Response> {
  const mark = crypto.randomUUID();
  const around = async (typed: Typed, used: string) =>
    (await (await playgroundPage(c, { ...shown, typed, answer: { text: mark, used } })).text()).split(mark);
  const [above = ""] = await around(shown.typed, "");

  async function* parts(): AsyncGenerator<string, void> {
    yield above;
    let text = "";
    let used = c.var.say("answer_broken");
    try {
      for await (const { data } of upstream.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
        if (data === "[DONE]") break;
        const { choices, usage } = JSON.parse(data) as Chunk;
        const said = saidIn(choices?.[0]?.delta ?? {});
        text += said;
        if (said !== "") yield escaped(said);
        if (usage) used = usedOf(c, shown, usage);
      }
    } catch {
      used = c.var.say("answer_broken"); // the API has logged the reason
    }
    yield (await around(answered(shown.typed, text), used))[1] ?? "";
  }

  const rest = parts();
  const page = new ReadableStream<string>(
    {
      async pull(controller) {
        const { done, value } = await rest.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await rest.return();
      },
    },
    { highWaterMark: 0 },
  );
  // A compressed page would be held back until it is complete.
  const headers = { "content-type": "text/html; charset=UTF-8", "content-encoding": "identity" };
  return c.body(page.pipeThrough(new TextEncoderStream()), 200, headers);
}

/** For a tool call, the tool's name and arguments are shown. */
const saidIn = ({ content, tool_calls: calls = [] }: Delta) =>
  (content ?? "") + calls.map(({ function: called }) => `${called?.name ? `\n${called.name} ` : ""}${called?.arguments ?? ""}`).join("");

function usedOf(c: ConsoleContext, { choice }: Shown, { prompt_tokens: input, completion_tokens: output }: NonNullable<Chunk["usage"]>) {
  const cost = amountOf(c, chatPrice(priceFromShown(choice.price), input, output));
  return c.var.say("answer_used", { input, output, cost });
}

/** Continues the conversation: the answer becomes part of it. */
function answered(typed: Typed, text: string): Typed {
  let at = 0;
  while (typed.has(`messages.${at}.role`)) at++;
  return new Map([...typed, [`messages.${at}.role`, ["assistant"]], [`messages.${at}.content`, [text]]]);
}
