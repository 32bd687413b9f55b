/** One run of the soak: the load, the crashes during it, the wait for everything to end, and the checks. */

import { setTimeout as sleep } from "node:timers/promises";
import { modelList } from "../support/api-answers.ts";
import { Random } from "../support/random.ts";
import { AdminClient } from "../support/admin-client.ts";
import { createAccount } from "../engine/wallets.ts";
import { Chats } from "./chats.ts";
import { runClient } from "./client.ts";
import type { CrashingGateway } from "../engine/crashing-gateway.ts";
import { type Account, History } from "../engine/history.ts";
import { freeFaults, readFreeChats } from "./accounting.ts";
import { Queries, untilAllFinal, watch } from "./queries.ts";
import { lossesWithoutCrash, report } from "./report.ts";
import { read, HttpClient } from "../engine/http-client.ts";
import { checkCharacters, checkTasks, endFaults, listAll, listFaults, settledAccounting } from "./checks.ts";

/** The amount that a tight wallet gets at the start and with each addition, in balance units: some images, or one video. */
const tightQuota = 3;
const killEveryMs = [10_000, 25_000] as const;
const stayDownMs = [0, 2_000] as const;
/** The reservation of a crashed submission is returned after thirty seconds; the rest is for slow machines. */
const ledgerWithinMs = 75_000;
/** The alarm of a chat's hold is due eleven minutes after the chat began. */
const holdsWithinMs = 720_000;

/** The options of a run. */
export interface SoakOptions {
  seed: number;
  minutes: number;
  clients: number;
  /** True also waits for the holds of killed chats. */
  waitsForHolds: boolean;
  signal: AbortSignal;
  log: (line: string) => void;
}

/** Runs the load against a gateway that was just started. Returns the faults. */
export async function soak(gateway: CrashingGateway, options: SoakOptions): Promise<string[]> {
  const { seed, log, signal } = options;
  const history = new History();
  const http = new HttpClient((path, init) => fetch(gateway.baseUrl + path, init));
  const admin = new AdminClient(gateway.baseUrl, gateway.adminToken);
  const accounts = await createAccounts(admin);
  const prices = await http.ask("GET", "/v1/models", accounts.at(0)?.apiKey ?? "");
  if (!prices) throw new Error("the price list got no answer");
  const chats = new Chats(read(modelList, prices), history, http);
  const queries = new Queries(history, http);
  const tools = { accounts, history, http, queries, admin, chats };

  const loadEnd = new AbortController();
  const watchEnd = new AbortController();
  const ends = AbortSignal.any([loadEnd.signal, signal]);
  const clients = Array.from({ length: options.clients }, (_, index) =>
    runClient({ ...tools, gateway, account: accounts.at(index % accounts.length) as Account, random: new Random(seed + 1 + index) }, ends),
  );
  const watching = watch(history, queries, gateway, AbortSignal.any([watchEnd.signal, signal]));
  try {
    let additions = 1;
    await crashes(gateway, options, async () => admin.changeAccount(findTight(accounts).id, { quota: tightQuota * ++additions }));
  } finally {
    loadEnd.abort();
    watchEnd.abort();
  }
  // Clients finish their current actions: submissions with a key are repeated until there is an answer.
  await Promise.all(clients);
  await watching;

  log(`the load has ended, ${history.open().length} tasks are open`);
  await listAll(tools);
  const drained = new AbortController();
  const draining = watch(history, queries, gateway, AbortSignal.any([drained.signal, signal]));
  await untilAllFinal(history, signal);
  drained.abort();
  await draining;

  chats.judgeEnded(gateway.crashes);
  const listed = await listAll(tools);
  for (const fault of listFaults(history, listed)) history.fault(fault);
  const files = await checkTasks(tools);
  for (const fault of endFaults(history, gateway.crashes)) history.fault(fault);
  await checkCharacters(tools, listed);
  for (const fault of await settledAccounting(tools, listed, { withinMs: ledgerWithinMs, allowsHolds: true })) history.fault(fault);
  if (options.waitsForHolds) {
    log("waiting for the holds of killed chats");
    for (const fault of await settledAccounting(tools, listed, { withinMs: holdsWithinMs, allowsHolds: false })) history.fault(fault);
  }
  for (const { what, from, to } of lossesWithoutCrash(http.losses, gateway.crashes))
    history.fault(`${what}, asked ${new Date(from).toISOString()}, lost after ${to - from} ms without a crash`);
  if (gateway.unaskedEnds > 0) history.fault(`the gateway ended by itself ${gateway.unaskedEnds} times`);
  await gateway.stop();
  for (const fault of freeFaults(await readFreeChats(gateway.stateDir), chats.chargedIds)) history.fault(fault);
  log(report(history, gateway.crashes, { requests: http.requests, losses: http.losses.length, files }));
  return history.faults;
}

/** An account with a large quota, one with a small quota, and one with a small quota of its key. */
async function createAccounts(admin: AdminClient): Promise<Account[]> {
  return [
    await createAccount(admin, "roomy", 1_000_000, null),
    { ...(await createAccount(admin, "tight", tightQuota, null)), isTight: true },
    { ...(await createAccount(admin, "tight-key", null, 4 * tightQuota)), isTight: true },
  ];
}

/** Its quota is raised after each crash, so that its clients reach it again and again. */
const findTight = (accounts: Account[]) => accounts.find(({ name }) => name === "tight")!;

/** Kills and restarts the gateway until the time is over; it is running at the end. */
async function crashes(
  gateway: CrashingGateway,
  { seed, minutes, signal, log }: SoakOptions,
  onRestart: () => Promise<void>,
): Promise<void> {
  const random = new Random(seed);
  const end = Date.now() + minutes * 60_000;
  for (;;) {
    const life = random.between(...killEveryMs);
    if (Date.now() + life >= end) break;
    await sleep(life, undefined, { signal });
    await gateway.kill();
    await sleep(random.between(...stayDownMs), undefined, { signal });
    const { at, upAt } = await gateway.restart();
    log(`kill ${gateway.crashes.length} after ${(life / 1000).toFixed(1)} s, up again after ${((upAt - at) / 1000).toFixed(1)} s`);
    await onRestart();
  }
  await sleep(Math.max(0, end - Date.now()), undefined, { signal });
}
