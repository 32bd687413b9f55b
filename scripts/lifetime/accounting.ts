/** The check at the end of a lifetime: D1, the archive's files, the callers' answers and their receipts agree about every unit. */

import { gunzipSync } from "node:zlib";
import type { MixedGateway } from "../../test/programs/support/mixed-gateway.ts";
import { micro } from "../support/bill.ts";
import type { Callers } from "./callers.ts";

interface Entry {
  taskId: string;
  accountId: string;
  kind: string;
  held: number;
  charged: number;
  outcome: string | null;
  closedAt: number | null;
}

interface Audit {
  drift: object[];
  progress: { complete: boolean };
}

const maxAudits = 50;

/** Runs the audit until it has checked all accounts. Returns a sentence for each difference. */
export async function auditFaults(callers: Callers): Promise<string[]> {
  for (let turn = 0; turn < maxAudits; turn++) {
    const { drift, progress } = await callers.admin<Audit>("/audit");
    if (progress.complete) return drift.map((one) => `the audit has drift: ${JSON.stringify(one)}`);
  }
  return ["the audit does not come to its end"];
}

/** All entries of D1 and of the archive's files, the archived ones with their account. */
export async function readEntries(gateway: MixedGateway): Promise<{ written: Entry[]; archived: Entry[] }> {
  const written = await gateway.rows<Entry>(
    `SELECT task_id AS taskId, account_id AS accountId, kind, held, charged, outcome, closed_at AS closedAt FROM entry WHERE step = 'reserve'`,
  );
  const archived: Entry[] = [];
  for (const { accountId, file } of await gateway.rows<{ accountId: string; file: string }>(
    "SELECT account_id AS accountId, file FROM archive_part",
  )) {
    const packed = await gateway.file(file);
    if (!packed) throw new Error(`${file} is named and missing`);
    const lines = gunzipSync(packed).toString().trimEnd().split("\n");
    for (const line of lines) archived.push({ ...(JSON.parse(line) as Entry), accountId });
  }
  return { written, archived };
}

/** The faults after everything has ended: nothing may be open or held any more. */
export async function finalFaults(gateway: MixedGateway, callers: Callers): Promise<string[]> {
  const faults = await auditFaults(callers);
  const { written, archived } = await readEntries(gateway);
  const all = [...written, ...archived];
  const byId = new Map(all.map((entry) => [entry.taskId, entry]));
  if (byId.size !== all.length) {
    const twice = all.filter((entry) => byId.get(entry.taskId) !== entry).map(({ taskId }) => taskId);
    faults.push(`${twice.join()} have two entries, of ${written.length} in D1 and ${archived.length} in the archive`);
  }
  for (const entry of byId.values()) faults.push(...entryFaults(entry));
  for (const task of callers.tasks.values()) faults.push(...taskFaults(task, byId.get(task.id)));
  for (const [id, account] of callers.chats) {
    const entry = byId.get(id);
    if (entry?.accountId !== account.id || entry.outcome !== "completed" || entry.charged === 0)
      faults.push(`${id} was answered and is ${JSON.stringify(entry)}`);
  }
  const known = new Set([...callers.tasks.keys(), ...callers.chats.keys()]);
  const unknown = all.filter(({ taskId, kind, charged }) => !known.has(taskId) && (kind !== "chat" || charged > 0));
  if (unknown.length > callers.lost)
    faults.push(`${unknown.length} entries of nobody, and only ${callers.lost} answers were lost: ${JSON.stringify(unknown[0])}`);
  for (const account of callers.accounts) faults.push(...(await accountFaults(callers, account, all)));
  return faults;
}

function entryFaults({ taskId, kind, held, charged, outcome, closedAt }: Entry): string[] {
  if (closedAt === null || outcome === null) return [`${taskId} has no end`];
  const isRight = outcome !== "completed" ? charged === 0 : kind === "chat" ? charged > 0 && charged <= held : charged === held;
  return isRight ? [] : [`${taskId} is ${outcome}, held ${held} and was charged ${charged}`];
}

function taskFaults({ id, account, seen, receipt }: Parameters<Callers["tasks"]["set"]>[1], entry: Entry | undefined): string[] {
  if (entry?.accountId !== account.id) return [`${id} was accepted, and its account has no entry of it`];
  const faults: string[] = [];
  if (seen !== undefined && (seen === "completed") !== (entry.outcome === "completed"))
    faults.push(`${id} was shown as ${seen} and is ${entry.outcome}`);
  if (receipt !== undefined && receipt !== entry.charged)
    faults.push(`${id} was charged ${entry.charged}, and its receipt says ${receipt}`);
  return faults;
}

async function accountFaults(callers: Callers, { id, quota }: Callers["accounts"][number], all: Entry[]): Promise<string[]> {
  const shown = await callers.admin<{ quota: number | null; remaining: number | null; reserved: number; used: number }>(`/accounts/${id}`);
  const charged = all.filter(({ accountId }) => accountId === id).reduce((sum, entry) => sum + entry.charged, 0);
  const faults: string[] = [];
  if (micro(shown.used) !== charged) faults.push(`${id} used ${shown.used}, and its entries are ${charged / 1e6}`);
  if (shown.reserved !== 0) faults.push(`${id} has ${shown.reserved} reserved, and nothing is open`);
  const found = shown.quota === null ? null : micro(shown.quota);
  if (found !== quota) faults.push(`${id} has a quota of ${shown.quota}, and was given ${quota}`);
  if (found !== null && found !== micro(shown.remaining ?? 0) + micro(shown.used) + micro(shown.reserved))
    faults.push(`${id}: ${shown.quota} is not ${shown.remaining} + ${shown.used} + ${shown.reserved}`);
  return faults;
}
