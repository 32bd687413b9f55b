/** The changes of accounts' access in the bucket, under `changes/`: written once, never listed to callers, and not lost when the database is restored. The bucket's rule removes them after 90 days: a restore goes back 30. */

import { inLanes } from "../base/concurrency.ts";
import type { AccountChange, RecordedChange } from "../db/account-changes.ts";
import { removeAssets } from "./assets.ts";

const root = "changes/";
/** The number of files that the bucket lists in one call. */
const maxListed = 1_000;

/** The name has the revision, so that a repeat writes the same file, and the kind, so that an erasure can delete the others. */
const changeFile = (accountId: string, { revision, change }: RecordedChange) =>
  `${root}${accountId}/${String(revision).padStart(15, "0")}-${change.act}.json`;

/** Stores a change; a repeat stores the same. */
export async function storeChange(bucket: R2Bucket, accountId: string, recorded: RecordedChange): Promise<void> {
  await bucket.put(changeFile(accountId, recorded), JSON.stringify(recorded.change), {
    httpMetadata: { contentType: "application/json" },
  });
}

/** The account's changes with a higher revision, in their order. */
export async function listChanges(bucket: R2Bucket, accountId: string, after: number): Promise<RecordedChange[]> {
  const later = (await changeFiles(bucket, accountId)).filter((key) => toRevision(key) > after);
  const found = await inLanes(later, async (key): Promise<RecordedChange[]> => {
    const file = await bucket.get(key);
    return file ? [{ revision: toRevision(key), change: await file.json<AccountChange>() }] : [];
  });
  return found.flat();
}

/** Deletes what the changes of an erased account contain, and keeps only that it was erased. */
export async function eraseChanges(bucket: R2Bucket, accountId: string): Promise<void> {
  const files = await changeFiles(bucket, accountId);
  await removeAssets(
    bucket,
    files.filter((key) => !key.endsWith("-erased.json")),
  );
}

const toRevision = (key: string) => Number(/(\d+)-[a-z_]+\.json$/.exec(key)?.[1]);

async function changeFiles(bucket: R2Bucket, accountId: string): Promise<string[]> {
  const keys: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await bucket.list({ prefix: `${root}${accountId}/`, limit: maxListed, ...(cursor && { cursor }) });
    keys.push(...page.objects.map(({ key }) => key));
    if (!page.truncated) return keys;
    cursor = page.cursor;
  }
}
