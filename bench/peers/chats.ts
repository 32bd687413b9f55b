/** The chats of the comparison: the upstream's answers, and what every gateway must forward. */

import * as z from "zod/mini";

/** Chunks with text in a streamed answer. */
export const chunks = 50;
/** Milliseconds between two chunks of a slow answer. */
export const paceMs = 10;

/** The text of an answer, one piece for each chunk. */
export const words = Array.from({ length: chunks }, (_, at) => `${at === 0 ? "" : " "}word${at}`);

/** The words in a prompt that make the upstream send the answer slowly. */
export const pacedPrompt = "Take your time.";

/** The words in a prompt that make the upstream send the answer slowly, each piece of text with the time at which it was written. */
export const timedPrompt = "Tell the time.";

/** `timed` is `paced` with times as its text. */
export type Kind = "whole" | "burst" | "paced" | "timed";

const additions: Partial<Record<Kind, string>> = { paced: pacedPrompt, timed: timedPrompt };

/** Milliseconds since the epoch, with fractions, the same in all processes of this machine. */
export const now = () => performance.timeOrigin + performance.now();
/** A time as a piece of an answer's text, and the times in such a text. */
export const toTimedText = (at: number) => ` ${at.toFixed(3)};`;
export const readTimes = (text: string) => [...text.matchAll(/ (\d+\.\d{3});/g)].map(([, at]) => Number(at));

/** The body of a chat for a model's name. */
export function toBody(model: string, kind: Kind): string {
  const question = "Which three facts about lighthouses would surprise a sailor of today, and why? Answer in at most two sentences each.";
  const messages = [
    { role: "system", content: "You are a helpful assistant that answers briefly, in plain words, and says so when it does not know." },
    { role: "user", content: [question, additions[kind] ?? []].flat().join(" ") },
  ];
  const isStream = kind !== "whole";
  return JSON.stringify({ model, messages, max_tokens: 256, ...(isStream && { stream: true, stream_options: { include_usage: true } }) });
}

const wholeAnswer = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })) });
const chunk = z.object({ choices: z.array(z.object({ delta: z.object({ content: z.optional(z.nullable(z.string())) }) })) });

function readText(answer: string, kind: Kind): string {
  if (kind === "whole") return wholeAnswer.parse(JSON.parse(answer)).choices[0]?.message.content ?? "";
  const data = answer.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length).trim()] : []));
  if (data.at(-1) !== "[DONE]") throw new Error("a streamed answer without its end");
  return data
    .slice(0, -1)
    .flatMap((text) => chunk.parse(JSON.parse(text)).choices.map(({ delta }) => delta.content ?? ""))
    .join("");
}

/** Throws unless a gateway's answer contains the upstream's whole text. */
export function checkAnswer(answer: string, kind: Kind): void {
  const text = readText(answer, kind);
  if (kind === "timed") {
    if (readTimes(text).length !== chunks) throw new Error(`the answer has not ${chunks} times: ${text.slice(0, 100)}`);
    return;
  }
  if (text !== words.join("")) throw new Error(`the answer is not the text of the upstream: ${text.slice(0, 100)}`);
}
