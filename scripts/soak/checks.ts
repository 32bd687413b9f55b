/** The final checks: every accepted task is listed and final, its files exist, and every millionth is explained. */

import { setTimeout as sleep } from "node:timers/promises";
import { characterList, resultCharacters, type TaskData } from "../support/api-answers.ts";
import type { AdminClient } from "../support/admin-client.ts";
import { type AccountFacts, accountingFaults, expectedCharge } from "./accounting.ts";
import type { Chats } from "./chats.ts";
import type { Account, History } from "../engine/history.ts";
import { readMarker } from "./submissions.ts";
import { listFiles, type Queries, inTurns } from "./queries.ts";
import { read, type HttpClient } from "../engine/http-client.ts";

const maxPages = 100;
const fetchAttempts = 3;

/** The inputs of the checks. */
export interface CheckTools {
  accounts: readonly Account[];
  history: History;
  http: HttpClient;
  queries: Queries;
  admin: AdminClient;
  chats: Chats;
}

/** All tasks that the gateway lists, by account. */
export type Listed = Map<Account, ListedTask[]>;
type ListedTask = Pick<TaskData, "id" | "status" | "metadata" | "result">;

/** Reads all lists completely, and adds the tasks whose submission was sent once and never answered. */
export async function listAll({ accounts, history, queries }: CheckTools): Promise<Listed> {
  const listed: Listed = new Map();
  for (const account of accounts) {
    const all: TaskData[] = [];
    for (let page = 1, after: string | undefined; page <= maxPages; page++) {
      const answer = await queries.list(account, after);
      if (!answer) throw new Error("a list got no answer from a running gateway");
      all.push(...answer.data);
      after = answer.data.at(-1)?.id;
      if (!answer.hasMore || after === undefined) break;
    }
    listed.set(account, all);
    for (const { id, metadata } of all) {
      const order = history.orders.find((one) => one.account === account && one.marker === readMarker(metadata));
      if (order?.state !== "lost") continue;
      history.count("lost submissions found");
      history.accept(order, id, Date.now());
    }
  }
  return listed;
}

/** Every accepted task must be listed once, and no other task. */
export function listFaults(history: History, listed: Listed): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const [account, tasks] of listed) {
    for (const { id, metadata } of tasks) {
      if (seen.has(id)) faults.push(`${id} is listed twice`);
      seen.add(id);
      const order = history.orders.find((one) => one.account === account && one.marker === readMarker(metadata));
      if (!order) faults.push(`${id} is listed, but was not submitted: ${JSON.stringify(metadata)}`);
      else if (order.id !== id)
        faults.push(`${id} is listed for ${order.marker}, which was ${order.state}${order.id ? ` as ${order.id}` : ""}`);
    }
  }
  for (const { id, order } of history.tasks.values())
    if (!seen.has(id)) faults.push(`${id} (${order.marker}) was accepted and is not listed`);
  return faults;
}

/**
 * Every task must end as the directive in its prompt requires. Only a crash may make it miss its deadline, and only its owner cancels it.
 */
export function endFaults(history: History, crashes: readonly { at: number }[]): string[] {
  return [...history.tasks.values()].flatMap(({ id, order, acceptedAt, isCancelAsked, final }) => {
    if (!final) return [`${id} has no end`];
    const prompt = String(order.body["prompt"]);
    const expected = prompt.includes("sandbox:fail")
      ? "provider_error"
      : prompt.includes("sandbox:flag")
        ? "content_policy_violation"
        : "completed";
    const end = final.error ?? final.status;
    // A crash costs at most one lease, which fits into the deadline; two crashes, or one during a minute's work, do not.
    const delays = crashes.filter(({ at }) => acceptedAt <= at && at < final.at).length + (prompt.includes("sandbox:slow") ? 1 : 0);
    const isRight = end === expected || (end === "cancelled" && isCancelAsked) || (end === "deadline_exceeded" && delays > 1);
    return isRight ? [] : [`${id} (${order.kind}, "${prompt}") ended as ${end}, expected was ${expected}`];
  });
}

/** Queries every accepted task once more, and downloads every file. Returns the number of files. */
export async function checkTasks({ history, queries }: CheckTools): Promise<number> {
  let files = 0;
  await inTurns([...history.tasks.values()], async (task) => {
    const data = await patiently(() => queries.task(task));
    if (!data) return history.fault(`${task.id} got no answer`);
    const urls = listFiles(data);
    if ((data.status === "completed") !== urls.length > 0) history.fault(`${task.id} is ${data.status} with ${urls.length} files`);
    for (const url of urls) {
      files++;
      if (!(await patiently(async () => (await queries.file(url, task.id)) || undefined)))
        history.fault(`${task.id}: a file got no answer`);
    }
  });
  return files;
}

/** Every created character must be in its account's list, and no other. */
export async function checkCharacters({ accounts, http, history }: CheckTools, listed: Listed): Promise<void> {
  for (const account of accounts) {
    const made = (listed.get(account) ?? []).flatMap(({ result }) => resultCharacters(result).map(({ id }) => id));
    const answer = await http.ask("GET", "/v1/characters?limit=100", account.apiKey);
    const { data, has_more: hasMore } = answer ? read(characterList, answer) : { data: [], has_more: false };
    const missing = hasMore ? [] : made.filter((id) => !data.some((one) => one.id === id));
    const foreign = data.filter(({ id }) => !made.includes(id));
    if (missing.length + foreign.length > 0)
      history.fault(`characters of ${account.name}: missing ${missing.join(" ")}; unknown ${foreign.map(({ id }) => id).join(" ")}`);
  }
}

/** Waits until all balances are explained, because the reservation of a lost submission is returned by an alarm; returns the remaining faults. */
export async function settledAccounting(
  tools: CheckTools,
  listed: Listed,
  options: { withinMs: number; allowsHolds: boolean },
): Promise<string[]> {
  for (const deadline = Date.now() + options.withinMs; ; await sleep(1_000)) {
    const facts: AccountFacts[] = [];
    for (const account of tools.accounts) {
      const charged = (listed.get(account) ?? []).reduce((sum, task) => sum + expectedCharge(task), 0);
      facts.push({
        name: account.name,
        wallets: await tools.admin.wallets(account.id, account.keyId),
        charged,
        chats: tools.chats.of(account),
      });
    }
    const audit = await tools.admin.audit();
    const faults = accountingFaults(audit, facts, tools.chats.cost ?? 0);
    if (audit.tasks_open > 0 && !options.allowsHolds) faults.push(`${audit.tasks_open} are still open, ${audit.reserved} reserved`);
    if (faults.length === 0 || Date.now() > deadline) return faults;
  }
}

async function patiently<T>(ask: () => Promise<T | undefined>): Promise<T | undefined> {
  for (let attempt = 1; attempt <= fetchAttempts; attempt++) {
    const answer = await ask();
    if (answer !== undefined) return answer;
  }
  return undefined;
}
