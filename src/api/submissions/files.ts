/** The account's files that a submission names in place of URLs: found when it is checked, copied to the task's inputs when it is accepted. */

import { filesWithIds, fileById, type StoredFile } from "../../db/files.ts";
import type { Caller } from "../../db/callers.ts";
import type { FileKind } from "../../catalog/own-schema.ts";
import { fileDigest } from "../../base/file-id.ts";
import { invalid, type Violation } from "../../base/errors.ts";
import { copyStored } from "../../storage/assets.ts";
import type { Source } from "../../tasks/record.ts";
import type { Lookups } from "./lookups.ts";

/** A field that names a file, and what the file has to be. */
export interface NamedFile {
  param: string;
  id: string;
  is: FileKind;
  /** The largest file that can be sent as part of a body. */
  maxBytes?: number;
}

/**
 * The files that the fields name, by id. An unknown one, one of another account, an expired one, and for a client token one that its key did
 * not name are the same violation. Adds what it looks up to `known`.
 */
export async function findFiles(
  { DB }: Env,
  { token, ...owner }: Caller,
  named: NamedFile[],
  known: Lookups["files"] = new Map(),
): Promise<{ files: Map<string, StoredFile>; violations: Violation[] }> {
  const isAllowed = (id: string) => fileDigest(id) !== undefined && (!token || token.files.includes(id));
  const ids = [...new Set(named.map(({ id }) => id).filter(isAllowed))];
  const unknown = ids.filter((id) => !known.has(id));
  const found = unknown.length > 0 ? await filesWithIds(DB, owner, unknown, Date.now()) : [];
  for (const id of unknown) known.set(id, found.find((file) => file.id === id) ?? null);
  const files = new Map(ids.flatMap((id) => known.get(id) ?? []).map((file) => [file.id, file]));
  const violations = named.flatMap(({ param, id, is, maxBytes = Infinity }): Violation[] => {
    const file = files.get(id);
    if (!file) return [{ param, rule: "unknown_file" }];
    if (file.bytes > maxBytes) return [{ param, rule: "image_too_large", values: { maximum: Math.floor(maxBytes / 1024 / 1024) } }];
    if (is === "any" || file.type.startsWith(`${is}/`)) return [];
    return [{ param, rule: is === "image" ? "file_not_image" : is === "video" ? "file_not_video" : "file_not_audio" }];
  });
  return { files, violations };
}

/** A file as the source of a task, with its bytes under this key. */
export const toSource = ({ id, type, bytes }: StoredFile, key: string): Source => ({
  asset: { key, type, bytes, digest: fileDigest(id)! },
});

/**
 * Copies a file to a task's input, which exists until the task has ended: the caller may delete the file, and it may expire, before the task
 * starts. Throws 400 at the field if the file is gone since it was found.
 */
export async function copyFile(env: Env, file: StoredFile, param: string, to: string): Promise<void> {
  await useBytes(env, file, param, (key) => copyStored(env.ASSETS, key, to));
}

/** Uses the bytes under the key of a file that was found. Throws 400 at the field if they are gone. */
export async function useBytes<T>(
  { DB }: Env,
  file: StoredFile,
  param: string,
  use: (key: string) => Promise<T | null | false>,
): Promise<T> {
  const used = await use(file.object);
  if (used) return used;
  // If the caller uploaded the same bytes again, they have another key since then.
  const moved = await fileById(DB, { accountId: file.accountId }, file.id, Date.now());
  const usedMoved = moved && (await use(moved.object));
  if (!usedMoved) throw invalid(param, "unknown_file");
  return usedMoved;
}
