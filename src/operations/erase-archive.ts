/** Erases an account's references from the archive. The amounts stay, as in the ledger. */

import { accountPrefix, DamagedArchiveError, listFiles, newFile, readPart, storePart } from "../storage/archive.ts";
import { removeAssets } from "../storage/assets.ts";
import { partsWithReferences, replaceFile } from "../db/archive.ts";
import { alert } from "../base/log.ts";
import { unnamed } from "./archive-check.ts";

const partsPerPass = 20;
const filesPerList = 500;

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;

/** One pass: replaces files that have references by files without, then deletes the replaced ones. True if no references remain. */
export async function eraseArchive({ DB, ASSETS }: Bindings, accountId: string): Promise<boolean> {
  const parts = await partsWithReferences(DB, accountId, partsPerPass);
  for (const part of parts) {
    const erased = { ...part, referenced: 0, file: newFile(part) };
    try {
      const entries = await readPart(ASSETS, part);
      for (const entry of entries) delete entry.reference;
      await storePart(ASSETS, erased, entries);
    } catch (error) {
      if (!(error instanceof DamagedArchiveError)) throw error;
      // The references of a damaged file cannot be removed, so the file is deleted; its sums are in D1, and the check of the archive
      // reports it.
      alert("erase", { account: accountId, outcome: "damaged_archive" }, error);
    }
    await replaceFile(DB, erased, part.file);
  }
  if (parts.length === partsPerPass) return false;
  for (let after: string | undefined = ""; after !== undefined;) {
    const { files, next }: Awaited<ReturnType<typeof listFiles>> = await listFiles(ASSETS, after, filesPerList, accountPrefix(accountId));
    const names = files.map(({ file }) => file);
    await removeAssets(ASSETS, await unnamed(DB, names));
    after = next;
  }
  return true;
}
