/** The answers of several models to one question, side by side as they arrive. */

import type { ConsoleContext } from "../context.ts";
import { readError } from "../answers.ts";
import { askGateway, withJson } from "../gateway.ts";
import { asStream, readAnswer } from "../playground/chat.ts";
import type { Choice } from "../playground/choices.ts";
import { messagesFor, type Reply, type Turn } from "./record.ts";

/** Yields the text of one model's answer to the last question; returns the answer. */
async function* askModel(c: ConsoleContext, choices: Choice[], turns: Turn[], model: string): AsyncGenerator<string, Reply> {
  const choice = choices.find(({ id }) => id === model);
  if (!choice) return { model, text: c.var.t("chat_model_gone"), state: "refused" };
  const asked = { model, messages: messagesFor(turns, model), ...asStream };
  const response = await askGateway(c, "/v1/chat/completions", withJson("POST", asked));
  if (!response.ok || !response.body) return { model, text: (await readError(response)).message, state: "refused" };
  const { text, use } = yield* readAnswer(choice, response.body);
  return { model, text, state: use ? "done" : "broken", ...(use && { use }) };
}

/** Yields texts as they arrive, each with the number of its model; returns all answers. Ends the upstreams if the reader stops. */
export async function* askModels(
  c: ConsoleContext,
  choices: Choice[],
  turns: Turn[],
): AsyncGenerator<{ of: number; text: string }, Reply[]> {
  const answers = (turns.at(-1)?.replies ?? []).map(({ model }) => askModel(c, choices, turns, model));
  const replies: Reply[] = [];
  const step = async (answer: (typeof answers)[number], of: number) => ({ of, answer, result: await answer.next() });
  const open = new Map(answers.map((answer, of) => [of, step(answer, of)]));
  try {
    while (open.size > 0) {
      const { of, answer, result } = await Promise.race(open.values());
      if (result.done) {
        replies[of] = result.value;
        open.delete(of);
      } else {
        open.set(of, step(answer, of));
        yield { of, text: result.value };
      }
    }
    return replies;
  } finally {
    for (const [of, answer] of answers.entries()) void answer.return({ model: String(of), text: "", state: "broken" });
  }
}
