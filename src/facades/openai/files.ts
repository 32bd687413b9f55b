/** `files`: upload, list, retrieve, delete, download. The results of a batch are downloaded in OpenAI's format. */

import type { AppContext } from "./context.ts";
import { pickHeaders, toSegment } from "../client.ts";
import { toStream } from "../../base/to-stream.ts";
import { findEndpoint, toOutput } from "./batch-results.ts";
import { refuseField, renameField } from "./errors.ts";
import { answerList, readPage } from "./lists.ts";
import { splitId, type StoredFile, toFile } from "./file-view.ts";

/** Forwards the form as it arrives. */
export async function uploadFile(c: AppContext): Promise<Response> {
  const { body } = c.req.raw;
  const headers = pickHeaders(c.req.raw, ["content-type", "content-length", "content-encoding"]);
  const stored = await c.var.gateway
    .read<StoredFile>("/v1/files", { method: "POST", headers, ...(body && { body }) })
    .catch(renameField((param) => (param === "expires_in" ? "expires_after[seconds]" : param)));
  return c.json(toFile(stored));
}

/** The largest page of the gateway. OpenAI's default of 10,000 files is more. */
const maxPage = 100;

export async function listFiles(c: AppContext): Promise<Response> {
  const { limit = String(maxPage), after, order = "desc", purpose } = c.req.query();
  if (order !== "desc") throw refuseField(c, "order", "not_equal", { allowed: "desc" });
  const size = /^\d+$/.test(limit) && Number(limit) > maxPage ? String(maxPage) : limit;
  const page = await readPage<StoredFile>(c, "/v1/files", { limit: size, after });
  const data = page.data.map(toFile);
  return answerList(c, page, data, purpose === undefined ? data : data.filter((file) => file.purpose === purpose));
}

const readFile = (c: AppContext, id: string) => c.var.gateway.read<StoredFile>(`/v1/files/${toSegment(id)}`);

const openContent = (c: AppContext, id: string) => c.var.gateway.ask(`/v1/files/${toSegment(id)}/content`);

/** The results of a batch that was begun on these paths, in OpenAI's format; undefined for any other file. */
async function openOutput(c: AppContext, file: StoredFile, ending: string) {
  const endpoint = await findEndpoint(c, file);
  if (endpoint === undefined) return undefined;
  const { body } = await openContent(c, file.id);
  return body ? toOutput(c, body, endpoint, ending === "" ? "completed" : "failed") : undefined;
}

/** Results are converted to learn their size; a list has the size of the file as it is stored. */
export async function retrieveFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  const file = await readFile(c, id);
  const output = await openOutput(c, file, ending);
  let bytes = output ? 0 : file.bytes;
  for await (const part of output ?? []) bytes += part.byteLength;
  return c.json({ ...toFile(file), id: id + ending, bytes });
}

export async function deleteFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  await c.var.gateway.ask(`/v1/files/${toSegment(id)}`, { method: "DELETE" });
  return c.json({ id: id + ending, object: "file", deleted: true });
}

export async function downloadFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  const output = await openOutput(c, await readFile(c, id), ending);
  if (output) return c.body(toStream(output), 200, { "content-type": "application/jsonl", "cache-control": "private, no-store" });
  const file = await openContent(c, id);
  return new Response(file.body, file);
}
