/** The results of an ended batch as a file of the account, written in parts from the batch's storage. */

import { fileById, insertFile, type StoredFile } from "../../db/files.ts";
import { removeAssets, storeFile } from "../../storage/assets.ts";
import { newFileObject, toNewFile } from "../../storage/files.ts";
import type { BatchStore } from "./state.ts";

/** The size of the parts in which results are read. */
export const resultBytes = 1024 * 1024;
const type = "application/jsonl";

/** Stores the results and notes their file in the batch. A repeat after a crash adds the file that was chosen. `keptMs`: how long it is kept. */
export async function storeResults(env: Env, store: BatchStore, keptMs: number): Promise<void> {
  const file = store.current.results ?? (await writeResults(env, store, keptMs));
  if (!store.batch) return;
  // Chosen before it is added: after a crash between the two the same file is added.
  store.write({ ...store.batch, results: file });
  if (!(await fileById(env.DB, { accountId: file.accountId }, file.id, Date.now()))) {
    // Results are never refused for their size; they count.
    const replaced = await insertFile(env.DB, file, Number.MAX_SAFE_INTEGER);
    await removeAssets(env.ASSETS, replaced ?? []);
  }
  if (store.batch) store.write({ ...store.batch, resultsFile: file.id });
}

async function writeResults(env: Env, store: BatchStore, keptMs: number): Promise<StoredFile> {
  const { accountId, keyId, id } = store.current.terms;
  const object = newFileObject(accountId);
  const pieces = async function* () {
    const encoder = new TextEncoder();
    for (let from: number | undefined = 0; from !== undefined;) {
      const part: ReturnType<BatchStore["results"]> = store.results(from, resultBytes);
      if (part.text !== "") yield encoder.encode(part.text);
      from = part.next;
    }
  };
  const stored = await storeFile(env.ASSETS, object, pieces(), { type, maxBytes: Infinity });
  return toNewFile({ accountId, keyId, type, name: `${id}.jsonl`, object }, stored, keptMs);
}
