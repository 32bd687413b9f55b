/** `/v1/files`: the account's own files, which bodies can name in place of URLs. */

import { endFile, fileById, listFiles as listStored, type StoredFile } from "../../db/files.ts";
import { fileDigest, hexDigest } from "../../base/file-id.ts";
import { fileCreatedAt } from "../../base/ids.ts";
import { ApiError } from "../../base/errors.ts";
import { removeExpiredFiles } from "../../storage/files.ts";
import { alert } from "../../base/log.ts";
import { toSeconds } from "../../base/times.ts";
import { answer, respond } from "../request/answer.ts";
import type { AppContext } from "../request/context.ts";
import { isOpenAi } from "../request/origin.ts";
import { checkQuery, readQuery, requireRow, toList } from "../request/query.ts";
import { sendStored } from "../request/send-stored.ts";
import { fileQuery, pageQuery } from "../schema/queries.ts";
import { receiveFile } from "./receive.ts";

const daySeconds = 86_400;
const maxSeconds = 7 * daySeconds;
/** How many expired files are removed after a deletion: its own, and some that expired by themselves. */
const maxRemoved = 20;

export async function createFile(c: AppContext): Promise<Response> {
  const { expires_in: seconds } = readQuery(c, fileQuery);
  const readLifetime = (fields: Record<string, string>) =>
    checkQuery(toLifetime(c, fields), fileQuery).expires_in ?? seconds ?? defaultSeconds(c);
  const file = await receiveFile(c, readLifetime);
  return answer(c, view(c, file), 201, { location: `/v1/files/${file.id}` });
}

/** OpenAI's files have no expiry by default, and may have one of 30 days: here they exist as long as a file can. */
const defaultSeconds = (c: AppContext) => (isOpenAi(c.req.raw) ? maxSeconds : daySeconds);

/** The lifetime in a form's fields; OpenAI's name for it on its paths only. */
function toLifetime(c: AppContext, fields: Record<string, string>): Record<string, unknown> {
  const openAi = isOpenAi(c.req.raw) ? fields["expires_after[seconds]"] : undefined;
  if (openAi === undefined) return { expires_in: fields["expires_in"] };
  return { expires_in: Number(openAi) > maxSeconds ? String(maxSeconds) : openAi };
}

export async function listFiles(c: AppContext): Promise<Response> {
  const owner = c.get("caller");
  const page = readQuery(c, pageQuery);
  const now = Date.now();
  // The id of a file that was deleted, or has expired, still has its place.
  await requireRow(page.after, async (id) => fileCreatedAt(owner.accountId, id) ?? fileById(c.env.DB, owner, id, now));
  const found = await listStored(c.env.DB, owner, { ...page, limit: page.limit + 1 }, now);
  const data = found.slice(0, page.limit).map((file) => view(c, file));
  return answer(c, toList(data, found.length > page.limit));
}

export async function showFile(c: AppContext, id: string): Promise<Response> {
  return answer(c, view(c, await findFile(c, id)));
}

/** The file's bytes, whole or in ranges. */
export async function downloadFile(c: AppContext, id: string): Promise<Response> {
  // The bytes may have moved between the two reads, because the same ones were uploaded again.
  for (let attempt = 0; attempt < 2; attempt++) {
    const file = await findFile(c, id);
    const digest = fileDigest(id)!;
    const sent = await sendStored(c, file.object, `"${digest}"`, {
      "cache-control": "private, no-cache",
      "content-disposition": toAttachment(file.name),
      "repr-digest": `sha-256=:${Uint8Array.fromBase64(digest, { alphabet: "base64url" }).toBase64()}:`,
    });
    if (sent) return sent;
  }
  throw new ApiError("file_not_found");
}

/** The name in the plain form, which every program reads, or in that for any letters (RFC 6266, section 4.3; RFC 8187). */
function toAttachment(name: string | null): string {
  if (!name) return "attachment";
  if (/^[\w .,()-]+$/.test(name)) return `attachment; filename="${name}"`;
  const escaped = encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
  return `attachment; filename*=UTF-8''${escaped}`;
}

export async function deleteFile(c: AppContext, id: string): Promise<Response> {
  const { DB } = c.env;
  const owner = c.get("caller");
  const now = Date.now();
  if (fileDigest(id) === undefined || !(await endFile(DB, owner, id, now))) throw new ApiError("file_not_found");
  // If this fails, the regular removal of expired files repeats it.
  await removeExpiredFiles(c.env, now, maxRemoved, owner.accountId).catch((error: unknown) =>
    alert("file", { outcome: "not_removed" }, error),
  );
  return respond(c, null, 204);
}

/** The caller's file. Throws 404 also for one that has expired or belongs to another account or member. */
async function findFile(c: AppContext, id: string): Promise<StoredFile> {
  const file = fileDigest(id) === undefined ? undefined : await fileById(c.env.DB, c.get("caller"), id, Date.now());
  if (!file) throw new ApiError("file_not_found");
  return file;
}

const view = (c: AppContext, { id, type, bytes, name, createdAt, expiresAt }: StoredFile) => ({
  id,
  object: "file",
  type,
  bytes,
  sha256: hexDigest(fileDigest(id)!),
  created_at: toSeconds(createdAt),
  expires_at: toSeconds(expiresAt),
  // OpenAI's paths show it.
  ...(isOpenAi(c.req.raw) && { filename: name }),
});
