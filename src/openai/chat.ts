/** `chat/completions`: the gateway's own, under the name that the model was asked for by, with OpenAI's errors. */

import { resolveModel } from "./aliases.ts";
import { ask } from "./ask.ts";
import { toError } from "./errors.ts";
import { readFields } from "./form.ts";
import type { AppContext } from "./paths.ts";
import { translateEvents } from "./events.ts";

interface Answer {
  model?: string;
  error?: { message: string; code: string; param: string | null };
}

export async function complete(c: AppContext): Promise<Response> {
  const fields = await readFields(c);
  const { model: asked } = fields;
  const named = typeof asked === "string" ? resolveModel(c.env, asked) : undefined;
  const dryRun = c.req.query("dry_run");
  const search = dryRun === undefined ? "" : `?dry_run=${encodeURIComponent(dryRun)}`;
  const answer = await ask(c, `/v1/chat/completions${search}`, { body: { ...fields, ...(named && { model: named.model }) } });
  const headers = new Headers(answer.headers);
  headers.delete("content-length");
  const rename = ({ error, ...rest }: Answer) =>
    error ? { error: toError(error, 500).body } : { ...rest, ...(named && rest.model !== undefined && { model: named.asked }) };
  if (fields["stream"] !== true || !answer.body) return Response.json(rename(await answer.json<Answer>()), { headers });
  const events = translateEvents((data) => `data: ${data.startsWith("{") ? JSON.stringify(rename(JSON.parse(data) as Answer)) : data}\n\n`);
  return new Response(answer.body.pipeThrough(events), { headers });
}
