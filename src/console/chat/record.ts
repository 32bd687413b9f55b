/** A conversation as it is stored: questions with the answers of one or several models, and what a model is sent of it. Pure. */

import * as z from "zod/mini";

const reply = z.object({
  model: z.string(),
  text: z.string(),
  /** `empty` until something arrives; `stopped` by the user, `broken` by a fault, `refused` with the gateway's message in `text`. */
  state: z.enum(["empty", "done", "stopped", "broken", "refused"]),
  /** Tokens, millionths and milliseconds of a whole answer. */
  use: z.optional(z.object({ input: z.number(), output: z.number(), cost: z.number(), ms: z.number() })),
});
const turn = z.object({
  question: z.string(),
  replies: z.array(reply),
  /** The answer that the conversation goes on with; the model's own, or the first, if none is chosen. */
  chosen: z.optional(z.number()),
});
const turns = z.array(turn);

export type Reply = z.infer<typeof reply>;
export type Turn = z.infer<typeof turn>;

/** How many models answer side by side. */
export const maxModels = 4;
/** Characters of a stored conversation: a row of D1 takes two megabytes. */
export const maxStored = 400_000;
export const maxTitle = 80;

/** The stored turns. Throws if they are not ours. */
export const parseTurns = (stored: string): Turn[] => turns.parse(JSON.parse(stored));

/** The models that answered last; they answer the next question too. */
export function lastModels(all: Turn[]): string[] {
  const last = all.at(-1);
  if (!last) return [];
  const chosen = last.chosen === undefined ? undefined : last.replies[last.chosen];
  return chosen ? [chosen.model] : last.replies.map(({ model }) => model);
}

/** A new question to these models. */
export const ask = (question: string, models: string[]): Turn => ({
  question,
  replies: models.map((model) => ({ model, text: "", state: "empty" })),
});

const isSaid = ({ state, text }: Reply) => state !== "refused" && text !== "";

/** What a model is sent for the last question. */
export const messagesFor = (all: Turn[], model: string): { role: "user" | "assistant"; content: string }[] =>
  all.flatMap(({ question, replies, chosen }, at) => {
    const said = replies.filter(isSaid);
    const one = (chosen === undefined ? undefined : replies[chosen]) ?? said.find((other) => other.model === model) ?? said[0];
    const asked = { role: "user" as const, content: question };
    return at === all.length - 1 || !one || !isSaid(one) ? [asked] : [asked, { role: "assistant" as const, content: one.text }];
  });

/** A line of Markdown without the signs of a heading, a list, a quotation, bold text or code. */
const withoutSigns = (line: string) =>
  line
    .slice(0, 4 * maxTitle)
    .replace(/^\s*(?:(?:#{1,6}|[>*+-])\s+)*/, "")
    .replace(/(?<![\w`])(\*\*|`)([^\s`*].*?)\1(?![\w`])/g, "$2")
    .trim();

/** The first line of a question that is more than a fence, as the title. */
export function toTitle(question: string): string {
  const lines = question.trim().split("\n").map(withoutSigns);
  const line = lines.find((one) => one !== "" && !/^(```|~~~)/.test(one)) ?? lines[0] ?? "";
  return line.length > maxTitle ? `${line.slice(0, maxTitle - 1)}…` : line;
}

/** The conversation as Markdown. `question` and each model are headings. */
export const toMarkdown = (title: string, all: Turn[], words: { question: string }): string =>
  [
    `# ${title}`,
    ...all.flatMap(({ question, replies }) => [
      `## ${words.question}`,
      question,
      ...replies.filter(isSaid).flatMap(({ model, text }) => [`## ${model}`, text]),
    ]),
  ].join("\n\n") + "\n";
