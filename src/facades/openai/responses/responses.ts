/** `responses`: a chat in OpenAI's newer format, answered whole or as its streaming events. */

import type { DryRun } from "../../client.ts";
import type { AppContext } from "../context.ts";
import { resolveModel } from "../aliases.ts";
import { refuseField, renameField, toError, withFieldRenamed } from "../errors.ts";
import { sendChat } from "../chat.ts";
import { isStream, translateEvents } from "../events.ts";
import { type Fields, isFields } from "../form.ts";
import { isDryRun, reportDropped } from "../submission.ts";
import { type Event, Output } from "./output.ts";
import { type Origin, toChat, toResponseParam } from "./request.ts";
import { newResponse, type Outcome, toEnd } from "./response.ts";
import { prepareToStore, readPrevious } from "./store.ts";
import { applyChoice, type ChatTool, readTools } from "./tools.ts";

/** Fields that change neither the kind of answer nor its price: accepted and not sent. */
const dropped = [
  "include",
  "truncation",
  "service_tier",
  "max_tool_calls",
  "top_logprobs",
  "prompt_cache_key",
  "safety_identifier",
  "user",
];

interface Chunk {
  choices?: { message?: Fields; delta?: Fields; finish_reason?: string | null }[];
  usage?: unknown;
  error?: { message: string; code: string; param: string | null };
}

export async function respond(c: AppContext): Promise<Response> {
  let tools: ChatTool[] = [];
  let origins: Origin[] = [];
  const rename = (param: string) => toResponseParam(param, tools, origins);
  const converting = async (fields: Fields) => {
    const converted = await convert(c, fields);
    ({ tools, origins } = converted.kept);
    return converted;
  };
  const { answer, kept } = await sendChat(c, converting).catch(renameField(rename));
  const { asked } = kept;
  reportDropped(c, kept.dropped);
  if (isStream(answer)) return stream(c, answer.body, kept);
  const whole = await answer.json<Chunk | DryRun>();
  if (isDryRun(whole)) return c.json({ ...whole, model: asked });
  const { storing, response } = kept;
  storing.begin();
  const ended = response(toOutcome(new Output(tools), whole));
  await storing.end(ended);
  return c.json(ended);
}

/** The whole answer of a chat. */
function toOutcome(output: Output, { choices, usage }: Chunk): Outcome {
  output.add(choices?.[0]?.message ?? {});
  const { status, reason } = toEnd(choices?.[0]?.finish_reason);
  output.end(status);
  return { status, output: output.items, usage, ...(reason !== undefined && { reason }) };
}

/** The model's name in the request, and ours. Throws 400. */
function readModel(c: AppContext, { model: asked }: Fields): { asked: string; model: string } {
  if (asked === undefined) throw refuseField(c, "model", "required");
  if (typeof asked !== "string") throw refuseField(c, "model", "wrong_type", { expected: "string" });
  return { asked, model: resolveModel(c.env, asked).model };
}

/** The chat of a batch's line. Its response is not stored, and continues none: a stored one ends before the batch. Throws 400. */
export async function toResponseLine(c: AppContext, fields: Fields): Promise<Fields> {
  const { model } = readModel(c, fields);
  if (fields["stream"] === true) throw refuseField(c, "stream", "not_equal", { allowed: "false" });
  const { chat } = await toChat(c, fields, () => {
    throw refuseField(c, "previous_response_id", "not_supported");
  });
  return { ...chat, model };
}

/** The response of a batch's line, made of its chat and the request's fields; the same each time. */
export function toResponse(c: AppContext, chat: Chunk & { id: string; created: number }, fields: Fields): object {
  const { tools } = applyChoice(c, readTools(c, fields["tools"]), fields["tool_choice"]);
  const own = chat.id.replace(/^chatcmpl-/, "");
  let items = 0;
  const output = new Output(tools, (prefix) => `${prefix}_${own}_${items++}`);
  const response = newResponse(fields, String(fields["model"]), { id: `resp_${own}`, isStored: false, endedAt: chat.created });
  return response(toOutcome(output, chat));
}

/** The chat, and the fields that the response echoes. Throws 400. */
async function convert(c: AppContext, fields: Fields) {
  const { asked, model } = readModel(c, fields);
  const { chat, tools, origins, items } = await toChat(c, fields, (id) => readPrevious(c, id));
  const storing = await prepareToStore(c, items, fields["store"] !== false);
  return {
    body: { ...chat, model },
    kept: {
      asked,
      tools,
      origins,
      storing,
      response: newResponse(fields, asked, storing),
      dropped: dropped.filter((name) => fields[name] !== undefined),
    },
  };
}

type Kept = Awaited<ReturnType<typeof convert>>["kept"];

/**
 * Converts the chat's chunks to the response's events. If the chat's stream breaks off, so does this one, so that it does not look
 * complete.
 */
function stream(c: AppContext, body: ReadableStream<Uint8Array>, { storing, response, tools }: Kept): Response {
  storing.begin();
  const output = new Output(tools);
  let sequence = 0;
  let finish: unknown;
  let usage: unknown;
  const write = (events: Event[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: sequence++ })}\n\n`).join("");
  const begin = () => {
    const begun = response({ status: "in_progress", output: [] });
    return sequence > 0
      ? ""
      : write([
          { type: "response.created", response: begun },
          { type: "response.in_progress", response: begun },
        ]);
  };
  const end = async () => {
    const { status, reason } = toEnd(finish);
    const closing = output.end(status);
    const ended = response({ status, output: output.items, usage, ...(reason !== undefined && { reason }) });
    await storing.end(ended);
    return write([...closing, { type: `response.${status}`, response: ended }]);
  };
  const fail = (error: NonNullable<Chunk["error"]>) => {
    const { message, code } = withFieldRenamed(toError(error, 500), (param) => toResponseParam(param, tools));
    const closing = output.end("incomplete");
    const failed = response({ status: "failed", output: output.items, error: { code: code ?? "server_error", message } });
    return write([...closing, { type: "response.failed", response: failed }]);
  };
  const translate = (data: string): string | Promise<string> => {
    if (data === "[DONE]") {
      const start = begin();
      return end().then((text) => start + text);
    }
    const chunk: unknown = JSON.parse(data);
    if (!isFields(chunk)) return "";
    const { choices, usage: reported, error } = chunk as Chunk;
    if (error) return begin() + fail(error);
    if (reported) usage = reported;
    const choice = choices?.[0];
    finish ??= choice?.finish_reason ?? undefined;
    return begin() + write(output.add(choice?.delta ?? {}));
  };
  c.header("content-type", "text/event-stream; charset=utf-8");
  c.header("cache-control", "no-cache");
  return c.body(body.pipeThrough(translateEvents(translate)));
}
