/** `chat/completions`: the gateway's own, under the name that the model was asked for by, with OpenAI's errors. */

import { resolveModel } from "./aliases.ts";
import { ask } from "./ask.ts";
import { toError } from "./errors.ts";
import { readFields } from "./form.ts";
import type { AppContext } from "./paths.ts";
import { withDryRun } from "./submission.ts";
import { isStream, translateEvents } from "./events.ts";

interface Answer {
  model?: string;
  error?: { message: string; code: string; param: string | null };
}

/** Where chats are asked. */
export const completions = "/v1/chat/completions";

export async function complete(c: AppContext): Promise<Response> {
  const fields = await readFields(c);
  const { model: asked } = fields;
  const named = typeof asked === "string" ? resolveModel(c.env, asked) : undefined;
  const answer = await ask(c, withDryRun(c, completions), { body: { ...fields, ...(named && { model: named.model }) } });
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  const rename = ({ error, ...rest }: Answer) =>
    error ? { error: toError(error, 500).body } : { ...rest, ...(named && rest.model !== undefined && { model: named.asked }) };
  if (!isStream(answer)) return Response.json(rename(await answer.json<Answer>()), { headers });
  const events = translateEvents((data) => `data: ${data.startsWith("{") ? JSON.stringify(rename(JSON.parse(data) as Answer)) : data}\n\n`);
  return new Response(answer.body.pipeThrough(events), { headers });
}
