/** One run of the soak: the load, the crashes during it, the wait for everything to end, and the verdict. */

import { setTimeout as sleep } from "node:timers/promises";
import { priceList } from "../support/api-answers.ts";
import { Operator } from "./accounts.ts";
import { Chats } from "./chats.ts";
import { runClient } from "./client.ts";
import type { CrashingGateway } from "./crashing-gateway.ts";
import { Random } from "../support/random.ts";
import { type Account, Journal } from "./journal.ts";
import { readChatRows, rowFaults } from "./ledger.ts";
import { Queries } from "./queries.ts";
import { lossesWithoutCrash, report } from "./report.ts";
import { read, Traffic } from "./traffic.ts";
import { checkCharacters, checkTasks, endFaults, listAll, listFaults, settledBooks } from "./verdict.ts";
import { untilAllFinal, watch } from "./watch.ts";

const killEveryMs = [10_000, 25_000] as const;
const stayDownMs = [0, 2_000] as const;
/** A reservation whose submission died is given back thirty seconds later; the rest is for slow machines. */
const booksWithinMs = 75_000;
/** The alarm of a chat's hold comes eleven minutes after the chat began. */
const holdsWithinMs = 720_000;
/** A stream that was left is settled in this time at the latest. */
const chatSettleMs = 25_000;

/** What a run is to be. */
export interface SoakOptions {
  seed: number;
  minutes: number;
  clients: number;
  /** Wait for the holds of killed chats, too. */
  waitsForHolds: boolean;
  signal: AbortSignal;
  say: (line: string) => void;
}

/** Runs the load against a gateway that was just started. Answers what was wrong. */
export async function soak(gateway: CrashingGateway, options: SoakOptions): Promise<string[]> {
  const { seed, say, signal } = options;
  const journal = new Journal();
  const traffic = new Traffic(gateway.baseUrl);
  const operator = new Operator(traffic, gateway.adminToken);
  const accounts = await operator.createAccounts();
  const prices = await traffic.ask("GET", "/v1/models", accounts.at(0)?.apiKey ?? "");
  if (!prices) throw new Error("the price list got no answer");
  const chats = new Chats(read(priceList, prices), journal, traffic);
  const queries = new Queries(journal, traffic);
  const tools = { accounts, journal, traffic, queries, operator, chats };

  const loadEnd = new AbortController();
  const watchEnd = new AbortController();
  const ends = AbortSignal.any([loadEnd.signal, signal]);
  const clients = Array.from({ length: options.clients }, (_, index) =>
    runClient({ ...tools, gateway, account: accounts.at(index % accounts.length) as Account, random: new Random(seed + 1 + index) }, ends),
  );
  const watching = watch(journal, queries, gateway, AbortSignal.any([watchEnd.signal, signal]));
  try {
    await crashes(gateway, options, async () => operator.addToTight(accounts));
  } finally {
    loadEnd.abort();
    watchEnd.abort();
  }
  // They finish what they have begun: who has a key repeats until there is an answer.
  await Promise.all(clients);
  await watching;

  say(`the load has ended, ${journal.open().length} tasks are open`);
  await listAll(tools);
  const drained = new AbortController();
  const draining = watch(journal, queries, gateway, AbortSignal.any([drained.signal, signal]));
  await untilAllFinal(journal, signal);
  drained.abort();
  await draining;

  chats.judgeHungUp(gateway.crashes, chatSettleMs);
  const listed = await listAll(tools);
  for (const fault of listFaults(journal, listed)) journal.fault(fault);
  const files = await checkTasks(tools);
  for (const fault of endFaults(journal, gateway.crashes)) journal.fault(fault);
  await checkCharacters(tools, listed);
  for (const fault of await settledBooks(tools, listed, { withinMs: booksWithinMs, allowsHolds: true })) journal.fault(fault);
  if (options.waitsForHolds) {
    say("waiting for the holds of killed chats");
    for (const fault of await settledBooks(tools, listed, { withinMs: holdsWithinMs, allowsHolds: false })) journal.fault(fault);
  }
  for (const { what, from, to } of lossesWithoutCrash(traffic.losses, gateway.crashes))
    journal.fault(`${what}, asked ${new Date(from).toISOString()}, lost after ${to - from} ms without a crash`);
  if (gateway.unaskedEnds > 0) journal.fault(`the gateway ended by itself ${gateway.unaskedEnds} times`);
  await gateway.stop();
  const rows = await readChatRows(gateway.stateDir);
  for (const fault of rowFaults(rows, chats.chargedIds)) journal.fault(fault);
  say(report(journal, gateway.crashes, { requests: traffic.requests, losses: traffic.losses.length, files, held: rows.held.length }));
  return journal.faults;
}

/** Kills and restarts the gateway until the minutes are over; it is up in the end. */
async function crashes(
  gateway: CrashingGateway,
  { seed, minutes, signal, say }: SoakOptions,
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
    await gateway.restart();
    const { at, upAt } = gateway.crashes.at(-1)!;
    say(`kill ${gateway.crashes.length} after ${(life / 1000).toFixed(1)} s, up again after ${((upAt - at) / 1000).toFixed(1)} s`);
    await onRestart();
  }
  await sleep(Math.max(0, end - Date.now()), undefined, { signal });
}
