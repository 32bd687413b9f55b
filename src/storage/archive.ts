/** Files of the archive in R2: settled entries of one account and month of submission as JSON lines, compressed with gzip. */

import type { ArchivedEntry, Sums, ArchivePart } from "../db/archive.ts";

/** A file is missing, unreadable, or does not match its row in D1. */
export class DamagedArchiveError extends Error {
  override readonly name = "DamagedArchiveError";
}

const root = "archive/";
export const accountPrefix = (accountId: string) => `${root}${accountId}/`;

/** A new file key. No two attempts write the same key; its prefix identifies the part and its number of entries. */
export const newFile = (of: Pick<ArchivePart, "accountId" | "month" | "part" | "entries">) =>
  `${filePrefix(of)}${crypto.randomUUID()}.jsonl.gz`;

const filePrefix = ({ accountId, month, part, entries }: Pick<ArchivePart, "accountId" | "month" | "part" | "entries">) =>
  `${accountPrefix(accountId)}${new Date(month).toISOString().slice(0, 7)}/${part}-${entries}-`;

export function sumUp(entries: readonly ArchivedEntry[]): Sums {
  const sums: Sums = { entries: entries.length, referenced: 0, held: 0, charged: 0, firstAt: Infinity, lastAt: 0 };
  for (const { held, charged, at, reference } of entries) {
    sums.held += held;
    sums.charged += charged;
    sums.referenced += reference === undefined ? 0 : 1;
    sums.firstAt = Math.min(sums.firstAt, at);
    sums.lastAt = Math.max(sums.lastAt, at);
  }
  return sums;
}

const sumNames = ["entries", "referenced", "held", "charged", "firstAt", "lastAt"] as const;
const fits = (entries: readonly ArchivedEntry[], sums: Sums) => {
  const found = sumUp(entries);
  return sumNames.every((name) => found[name] === sums[name]);
};

/** Writes a file, reads it back and compares its sums. Throws if they differ. */
export async function storePart(bucket: R2Bucket, part: ArchivePart, entries: readonly ArchivedEntry[]): Promise<void> {
  const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  const packed = await new Response(new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer();
  await bucket.put(part.file, packed, { httpMetadata: { contentType: "application/gzip" } });
  await readFile(bucket, part.file, part);
}

/**
 * The entries of a part. If its file is missing, because a restored database refers to one that an erasure has replaced, reads another file
 * of the same part with the same sums. Throws `DamagedArchiveError`.
 */
export async function readPart(bucket: R2Bucket, part: ArchivePart): Promise<ArchivedEntry[]> {
  try {
    return await readFile(bucket, part.file, part);
  } catch (error) {
    if (!(error instanceof DamagedArchiveError)) throw error;
    const { objects } = await bucket.list({ prefix: filePrefix(part), limit: 10 });
    for (const { key } of objects) {
      const entries = await readFile(bucket, key, { ...part, referenced: 0 }).catch(() => undefined);
      if (entries) return entries;
    }
    throw error;
  }
}

async function readFile(bucket: R2Bucket, file: string, sums: Sums): Promise<ArchivedEntry[]> {
  const object = await bucket.get(file);
  if (!object) throw new DamagedArchiveError(`${file} is missing`);
  const entries = await unpack(object.body).catch((error: unknown) => {
    throw new DamagedArchiveError(`${file} is not readable`, { cause: error });
  });
  if (!fits(entries, sums)) throw new DamagedArchiveError(`${file} has other sums than its row`);
  return entries;
}

async function unpack(packed: ReadableStream<Uint8Array>): Promise<ArchivedEntry[]> {
  const text = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as ArchivedEntry]));
}

/** The part that a file belongs to, by its key; undefined for another kind of key. */
export function parseFile(file: string): Pick<ArchivePart, "accountId" | "month" | "part"> | undefined {
  const [, accountId, month, part] = /^archive\/([^/]+)\/(\d{4}-\d\d)\/(\d+)-\d+-[^/]+$/.exec(file) ?? [];
  return accountId && month && part ? { accountId, month: Date.parse(`${month}-01T00:00:00Z`), part: Number(part) } : undefined;
}

/**
 * Files after `after` in the order of their keys, with when each was written (milliseconds). `next` is where to continue; undefined if no
 * file follows: the bucket may return fewer than `limit` although more follow.
 */
export async function listFiles(
  bucket: R2Bucket,
  after: string,
  limit: number,
  prefix = root,
): Promise<{ files: { file: string; writtenAt: number }[]; next: string | undefined }> {
  const { objects, truncated } = await bucket.list({ prefix, limit, ...(after > prefix && { startAfter: after }) });
  const files = objects.map(({ key, uploaded }) => ({ file: key, writtenAt: uploaded.getTime() }));
  return { files, next: truncated ? files.at(-1)?.file : undefined };
}
