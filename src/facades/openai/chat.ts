/** `chat/completions`: forwards to the gateway's own path; the answer has the requested model name and OpenAI's errors. */

import type { AppContext } from "./context.ts";
import { resolveModel } from "./aliases.ts";
import { toError } from "./errors.ts";
import { isStream, translateEvents } from "./events.ts";
import { type Fields, maxChatBytes, readFields, requireJson } from "./form.ts";
import { withDryRun } from "./submission.ts";
import { isLarge, maxBodyBytes, sendInTurn, toPieces } from "./turns.ts";

interface Answer {
  model?: string;
  error?: { message: string; code: string; param: string | null };
}

/**
 * A converted request: the body of the chat, and the data that building the answer needs, which is kept in memory until the answer has
 * ended.
 */
interface Converted<T> {
  body: object;
  kept: T;
}

/** Sends the chat that `convert` builds from a request's fields to the gateway. Throws the errors of `convert` and of the gateway. */
export async function sendChat<T>(
  c: AppContext,
  convert: (fields: Fields) => Converted<T> | Promise<Converted<T>>,
): Promise<{ answer: Response; kept: T }> {
  const path = withDryRun(c, "/v1/chat/completions");
  // Before it waits for memory, of which it would never get enough.
  requireJson(c, maxChatBytes);
  let kept!: T;
  const read = async () => {
    const converted = await convert(await readFields(c, maxChatBytes));
    ({ kept } = converted);
    return converted.body;
  };
  const answer = isLarge(c)
    ? await sendInTurn(c, async () => ({ path, body: toPieces(await read()) }), chatCopies)
    : await c.var.gateway.ask(path, { body: await read() });
  return { answer, kept };
}

/** The text of a chat is in memory several times, unlike the files of other bodies: the largest chat takes an account's half. */
const chatCopies = (1.5 * maxBodyBytes) / maxChatBytes;

/** The body of a chat with our name of its model. */
export function toBody(c: AppContext, fields: Fields): Fields {
  const { model } = fields;
  const known = typeof model === "string" ? resolveModel(c.env, model) : undefined;
  return { ...fields, ...(known && { model: known.model }) };
}

export async function complete(c: AppContext): Promise<Response> {
  const { answer, kept: asked } = await sendChat(c, (fields) => ({ body: toBody(c, fields), kept: fields["model"] }));
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  const rename = ({ error, ...rest }: Answer) =>
    error ? { error: toError(error, 500).body } : { ...rest, ...(rest.model !== undefined && { model: asked }) };
  if (!isStream(answer)) return Response.json(rename(await answer.json<Answer>()), { headers });
  const events = translateEvents((data) => `data: ${data.startsWith("{") ? JSON.stringify(rename(JSON.parse(data) as Answer)) : data}\n\n`);
  return new Response(answer.body.pipeThrough(events), { headers });
}
