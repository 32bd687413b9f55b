/** Checks the archive's files against D1, a few in each run, and deletes files that no row refers to any more. */

import { dayMs } from "../base/times.ts";
import { type ArchivePart, findParts, listParts } from "../db/archive.ts";
import { DamagedArchiveError, listFiles, parseFile, readPart } from "../storage/archive.ts";
import { removeAssets } from "../storage/assets.ts";
import { readJob, writeJob } from "../db/jobs.ts";

const partsPerRun = 5;
const filesPerRun = 100;
/** A replaced file is kept for longer than D1 can be restored, because a restored database refers to it again. */
const keptMs = 36 * dayMs;

type Bindings = Pick<OperationsBindings, "DB" | "ASSETS">;
type Place = Pick<ArchivePart, "accountId" | "month" | "part">;

interface CheckState {
  after: Place;
  /** Damaged files of this round; for parts that it has not reached, those of the previous round. */
  damaged: (Place & { file: string })[];
}

const beginning: Place = { accountId: "", month: 0, part: 0 };
const isBehind = (one: Place, place: Place) =>
  one.accountId > place.accountId ||
  (one.accountId === place.accountId && (one.month > place.month || (one.month === place.month && one.part > place.part)));

/** Reads the files of the next parts and compares the number and sums of their entries with D1. Returns the damaged files. */
export async function checkArchive({ DB, ASSETS }: Bindings): Promise<string[]> {
  const { after, damaged } = (await readJob<CheckState>(DB, "check")) ?? { after: beginning, damaged: [] };
  const parts = await listParts(DB, after, partsPerRun);
  const found: CheckState["damaged"] = [];
  for (const part of parts) if (await isDamaged({ DB, ASSETS }, part)) found.push(toFinding(part));
  const last = parts.length === partsPerRun ? parts.at(-1) : undefined;
  const elsewhere = damaged.filter((one) => !isBehind(one, after) || (last !== undefined && isBehind(one, last)));
  const next = [...elsewhere, ...found];
  await writeJob(DB, "check", {
    after: last ? { accountId: last.accountId, month: last.month, part: last.part } : beginning,
    damaged: next,
  } satisfies CheckState);
  return next.map(({ file }) => file);
}

const toFinding = ({ accountId, month, part, file }: ArchivePart) => ({ accountId, month, part, file });

async function isDamaged({ DB, ASSETS }: Bindings, part: ArchivePart): Promise<boolean> {
  try {
    await readPart(ASSETS, part);
    return false;
  } catch (error) {
    if (!(error instanceof DamagedArchiveError)) throw error;
    // An erasure may have replaced the file since its row was read.
    const [now] = await findParts(DB, [part]);
    return now?.file === part.file;
  }
}

/** Deletes files of crashed attempts and replaced files, once no restored database can refer to them. */
export async function sweepArchive({ DB, ASSETS }: Bindings, now: number): Promise<void> {
  const { after } = (await readJob<{ after: string }>(DB, "sweep")) ?? { after: "" };
  const { files, next = "" } = await listFiles(ASSETS, after, filesPerRun);
  const old = files.filter(({ writtenAt }) => writtenAt < now - keptMs).map(({ file }) => file);
  await removeAssets(ASSETS, await unnamed(DB, old));
  await writeJob(DB, "sweep", { after: next });
}

/** Those of these files that no row refers to. */
export async function unnamed(db: Env["DB"], files: string[]): Promise<string[]> {
  const parts = files.flatMap((file) => parseFile(file) ?? []);
  const named = new Set((parts.length === 0 ? [] : await findParts(db, parts)).map(({ file }) => file));
  return files.filter((file) => !named.has(file));
}
