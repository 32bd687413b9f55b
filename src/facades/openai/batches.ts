/** `batches`: create, retrieve, list, cancel. The lines become those of `/v1/batches` before the batch begins. */

import type { AppContext } from "./context.ts";
import { toStream } from "../../base/to-stream.ts";
import { JsonBodyError } from "../../media/json-error.ts";
import { type Batch, toSegment } from "../client.ts";
import { OpenAiError, refuse, refuseBody, refuseField, refuseLike } from "./errors.ts";
import { type Fields, isFields, readFields, toObject } from "./form.ts";
import { toBody as toChatBody } from "./chat.ts";
import { toImageLine } from "./images.ts";
import { LongLineError, readInput } from "./lines.ts";
import { answerList, readPage } from "./lists.ts";
import { submitOnce } from "./once.ts";
import { toBatch } from "./batch-view.ts";
import { toResponseLine } from "./responses/responses.ts";
import { ownFields, withDryRun, withOwnNames } from "./submission.ts";
import { toBody as toVideoLine } from "./videos.ts";

/** The gateway's endpoint for each of OpenAI's, and the conversion of a line's body. `shown` is what the answer of a chat shows of its request. */
const endpoints: Record<
  string,
  { path: string; convert: (c: AppContext, body: Fields) => Fields | Promise<Fields>; shown?: (body: Fields) => Fields }
> = {
  "/v1/images/generations": { path: "/v1/images/generations", convert: toImageLine },
  "/v1/videos": { path: "/v1/videos/generations", convert: toVideoLine },
  "/v1/chat/completions": { path: "/v1/chat/completions", convert: toChatBody, shown: ({ model }) => ({ model }) },
  "/v1/responses": { path: "/v1/chat/completions", convert: toResponseLine, shown: ({ input: _input, ...fields }) => fields },
};
const allowed = Object.keys(endpoints).join(", ");

/** Converts the lines to a file of the gateway's, and begins a batch with it. Throws 400 for the first line that cannot be converted. */
export async function createBatch(c: AppContext): Promise<Response> {
  const fields = await readFields(c);
  const { input_file_id: input, endpoint, completion_window: window = "24h", metadata, concurrency } = fields;
  if (typeof endpoint !== "string" || !Object.hasOwn(endpoints, endpoint))
    throw refuseField(c, "endpoint", endpoint === undefined ? "required" : "not_one_of", { allowed });
  if (window !== "24h") throw refuseField(c, "completion_window", "not_equal", { allowed: "24h" });
  if (typeof input !== "string")
    throw refuseField(c, "input_file_id", input === undefined ? "required" : "wrong_type", { expected: "string" });
  const origin: Batch["openai"] = {
    endpoint,
    input_file_id: input,
    ...(metadata !== undefined && { metadata: readMetadata(c, metadata) }),
  };
  const { gateway } = c.var;
  const batch = await submitOnce(c, async (identify) => {
    const headers = await identify(JSON.stringify(fields));
    const file = await gateway.ask(`/v1/files/${toSegment(input)}/content`).catch((error: unknown) => {
      throw error instanceof OpenAiError && error.status === 404 ? refuseField(c, "input_file_id", "unknown_file") : error;
    });
    if (!file.body) throw refuseField(c, "input_file_id", "unknown_file");
    const { id } = await storeLines(c, endpoint, file.body);
    try {
      const body = { input_file: id, concurrency, ...ownFields(c, fields) };
      const sent = { ...headers, "x-batch-origin": new TextEncoder().encode(JSON.stringify(origin)).toBase64() };
      return await gateway.read<Batch>(withDryRun(c, "/v1/batches"), { body, headers: sent });
    } finally {
      // The batch has a copy.
      await removeLines(c, id);
    }
  }).catch(withOwnNames(c, { input_file: "input_file_id" }));
  return c.json(toBatch(batch));
}

/** OpenAI's limits. */
function readMetadata(c: AppContext, given: unknown): Record<string, string> {
  if (!isFields(given)) throw refuseField(c, "metadata", "wrong_type", { expected: "object" });
  const entries = Object.entries(given);
  if (entries.length > 16) throw refuseField(c, "metadata", "too_big_list", { maximum: 16 });
  for (const [name, value] of entries) {
    if (typeof value !== "string") throw refuseField(c, `metadata.${name}`, "wrong_type", { expected: "string" });
    if (name.length > 64 || value.length > 512) throw refuseField(c, `metadata.${name}`, "too_long", { maximum: 512 });
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Deletes the file of the converted lines. If this fails, it expires by itself. */
const removeLines = (c: AppContext, id: string) => c.var.gateway.send(`/v1/files/${id}`, { method: "DELETE" }).catch(() => undefined);

/** Stores the converted lines, which are sent while they are read. */
async function storeLines(c: AppContext, endpoint: string, input: ReadableStream<Uint8Array>): Promise<{ id: string }> {
  let refused: unknown;
  const encoder = new TextEncoder();
  async function* converted() {
    try {
      for await (const line of readInput(input)) yield encoder.encode(`${JSON.stringify(await convert(c, endpoint, line))}\n`);
    } catch (error) {
      // Ended, not broken: an error would be reported by everything that the stream passes.
      refused =
        error instanceof LongLineError
          ? lineError(c, error.line, refuseLike(c, 413, "body_too_large"))
          : error instanceof JsonBodyError && error.reason === "not_json"
            ? refuseField(c, "input_file_id", "file_not_lines")
            : refuseBody(c, error);
    }
  }
  const body = toStream(converted());
  const headers = { "content-type": "application/jsonl" };
  const stored = await c.var.gateway
    .read<{ id: string }>("/v1/files?expires_in=3600", { method: "POST", body, headers })
    .catch((error: unknown) => {
      throw refused ?? error;
    });
  if (refused === undefined) return stored;
  await removeLines(c, stored.id);
  throw refused;
}

/** A line of the gateway's batches. Throws 400 with the number of the line. */
async function convert(c: AppContext, endpoint: string, { text, line: at }: { text: string; line: number }): Promise<object> {
  try {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw refuseLike(c, 400, "invalid_json");
    }
    const { custom_id: customId, method, url, body } = toObject(c, value);
    if (typeof customId !== "string") throw refuseField(c, "custom_id", "required");
    if (method !== "POST") throw refuseField(c, "method", "not_equal", { allowed: "POST" });
    if (url !== endpoint) throw refuseField(c, "url", "not_equal", { allowed: endpoint });
    if (!isFields(body)) throw refuseField(c, "body", "wrong_type", { expected: "object" });
    const fields = toObject(c, body);
    const { path, convert: toLine, shown } = endpoints[endpoint]!;
    // The header of the request is the reference of the batch, not of its lines.
    const line = { ...(await toLine(c, fields)), reference: fields["reference"] };
    return { custom_id: customId, endpoint: path, body: line, openai: shown?.(fields) };
  } catch (error) {
    throw error instanceof OpenAiError ? lineError(c, at, error) : error;
  }
}

const lineError = (c: AppContext, line: number, { status, message, code }: OpenAiError) =>
  refuse(c, status, "bad_line", { line: String(line), message }, { param: "input_file_id", code });

const pathOf = (c: AppContext) => `/v1/batches/${toSegment(c.req.param("id") ?? "")}`;

export async function retrieveBatch(c: AppContext): Promise<Response> {
  return c.json(toBatch(await c.var.gateway.read<Batch>(pathOf(c))));
}

export async function cancelBatch(c: AppContext): Promise<Response> {
  return c.json(toBatch(await c.var.gateway.read<Batch>(`${pathOf(c)}/cancel`, { method: "POST" })));
}

export async function listBatches(c: AppContext): Promise<Response> {
  const { limit = "20", after } = c.req.query();
  const page = await readPage<Batch>(c, "/v1/batches", { limit, after });
  const data = page.data.map(toBatch);
  return answerList(c, page, data);
}
