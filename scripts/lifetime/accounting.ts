/** The check at the end of a lifetime: D1, the archive's files, the callers' answers and their receipts agree about every unit. */

import { gunzipSync } from "node:zlib";
import type { MixedGateway } from "../../test/programs/support/mixed-gateway.ts";
import type { KnownTask } from "../engine/history.ts";
import { walletFaults } from "../engine/wallets.ts";
import { micro } from "../support/bill.ts";
import type { Caller, Callers } from "./callers.ts";

interface Entry {
  taskId: string;
  accountId: string;
  kind: string;
  held: number;
  charged: number;
  outcome: string;
}

const maxAudits = 50;

/** Runs the audit until it has checked all accounts. Returns a sentence for each difference. */
export async function auditFaults(callers: Callers): Promise<string[]> {
  for (let turn = 0; turn < maxAudits; turn++) {
    const { drift, progress } = await callers.admin.audit();
    if (progress.complete) return drift.map((one) => `the audit has drift: ${JSON.stringify(one)}`);
  }
  return ["the audit does not come to its end"];
}

/** All entries of D1 and of the archive's files, the archived ones with their account. */
export async function readEntries(gateway: MixedGateway): Promise<{ written: Entry[]; archived: Entry[] }> {
  const written = await gateway.rows<Entry>(`SELECT task_id AS taskId, account_id AS accountId, kind, held, charged, outcome FROM entry`);
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

/** The faults after everything has ended: nothing may still be open or held. */
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
  for (const task of callers.history.tasks.values()) faults.push(...taskFaults(task, callers.receipts.get(task.id), byId.get(task.id)));
  for (const [id, account] of callers.chats) {
    const entry = byId.get(id);
    if (callers.unsettled.has(id) && entry?.accountId === account.id && entry.outcome === "deadline_exceeded" && entry.charged === 0)
      continue;
    if (entry?.accountId !== account.id || entry.outcome !== "completed" || entry.charged === 0)
      faults.push(`${id} was answered and is ${JSON.stringify(entry)}`);
  }
  const known = new Set([...callers.history.tasks.keys(), ...callers.chats.keys()]);
  const unknown = all.filter(({ taskId, kind, charged }) => !known.has(taskId) && (kind !== "chat" || charged > 0));
  if (unknown.length > callers.lost)
    faults.push(
      `${unknown.length} entries belong to no caller's request, and only ${callers.lost} answers were lost: ${JSON.stringify(unknown[0])}`,
    );
  for (const account of callers.accounts) faults.push(...(await accountFaults(callers, account, all)));
  return faults;
}

function entryFaults({ taskId, kind, held, charged, outcome }: Entry): string[] {
  const isRight = outcome !== "completed" ? charged === 0 : kind === "chat" ? charged > 0 && charged <= held : charged === held;
  return isRight ? [] : [`${taskId} is ${outcome}, held ${held} and was charged ${charged}`];
}

function taskFaults({ id, order, final }: KnownTask, receipt: number | undefined, entry: Entry | undefined): string[] {
  if (entry?.accountId !== order.account.id) return [`${id} was accepted, and its account has no entry of it`];
  const faults: string[] = [];
  if (final && (final.status === "completed") !== (entry.outcome === "completed"))
    faults.push(`${id} was shown as ${final.status} and is ${entry.outcome}`);
  if (receipt !== undefined && receipt !== entry.charged)
    faults.push(`${id} was charged ${entry.charged}, and its receipt says ${receipt}`);
  return faults;
}

async function accountFaults(callers: Callers, caller: Caller, all: Entry[]): Promise<string[]> {
  const { id, quota } = caller;
  const wallets = await callers.admin.wallets(id, caller.keyId);
  const shown = wallets.account;
  const charged = all.filter(({ accountId }) => accountId === id).reduce((sum, entry) => sum + entry.charged, 0);
  const faults = walletFaults(id, wallets);
  if (micro(shown.used) !== charged) faults.push(`${id} used ${shown.used}, and its entries are ${charged / 1e6}`);
  if (shown.reserved !== 0) faults.push(`${id} has ${shown.reserved} reserved, and nothing is open`);
  if ((shown.quota === null ? null : micro(shown.quota)) !== quota)
    faults.push(`${id} has a quota of ${shown.quota}, and was given ${quota}`);
  return faults;
}
