/** `files`: upload, list, retrieve, delete, download. The results of a batch are downloaded in OpenAI's format. */

import type { AppContext } from "./context.ts";
import type { Page } from "../client.ts";
import { findEndpoint, toOutput } from "./batch-results.ts";
import { refuseField } from "./errors.ts";
import { splitId, type StoredFile, toFile } from "./file-view.ts";

/** Forwards the form as it arrives. */
export async function uploadFile(c: AppContext): Promise<Response> {
  const { body, headers } = c.req.raw;
  const sent = Object.fromEntries(
    ["content-type", "content-length", "content-encoding"].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value] as const];
    }),
  );
  const stored = await c.var.gateway.read<StoredFile>("/v1/files", { method: "POST", headers: sent, ...(body && { body }) });
  return c.json(toFile(stored));
}

/** The largest page of the gateway. OpenAI's default of 10,000 files is more. */
const maxPage = 100;

export async function listFiles(c: AppContext): Promise<Response> {
  const { limit = String(maxPage), after, order = "desc", purpose } = c.req.query();
  if (order !== "desc") throw refuseField(c, "order", "not_one_of", { allowed: "desc" });
  const size = /^\d+$/.test(limit) && Number(limit) > maxPage ? String(maxPage) : limit;
  const query = new URLSearchParams({ limit: size, ...(after !== undefined && { after }) });
  const page = await c.var.gateway.read<Page<StoredFile>>(`/v1/files?${query.toString()}`);
  const data = page.data.map(toFile);
  return c.json({
    object: "list",
    data: purpose === undefined ? data : data.filter((file) => file.purpose === purpose),
    has_more: page.has_more,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  });
}

const readFile = (c: AppContext, id: string) => c.var.gateway.read<StoredFile>(`/v1/files/${encodeURIComponent(id)}`);

export async function retrieveFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  const file = toFile(await readFile(c, id));
  return c.json({ ...file, id: id + ending });
}

export async function deleteFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  await c.var.gateway.ask(`/v1/files/${encodeURIComponent(id)}`, { method: "DELETE" });
  return c.json({ id: id + ending, object: "file", deleted: true });
}

export async function downloadFile(c: AppContext): Promise<Response> {
  const { id, ending } = splitId(c.req.param("id") ?? "");
  const endpoint = await findEndpoint(c, await readFile(c, id));
  const file = await c.var.gateway.ask(`/v1/files/${encodeURIComponent(id)}/content`);
  if (endpoint === undefined || !file.body) return new Response(file.body, file);
  const output = toOutput(c, file.body, endpoint, ending === "" ? "completed" : "failed");
  return c.body(output, 200, { "content-type": "application/jsonl", "cache-control": "private, no-store" });
}
