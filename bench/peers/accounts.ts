/**
 * `npm run bench -- accounts`: CPU per chat of many accounts as a multiple of one account's: a hundred accounts that chat in turn, and a
 * thousand with one chat each, three times with a quiet minute between. Each case has a server of its own, whose work after the answers
 * counts too: batches of D1, the console's log of requests, grants that are returned. It takes a quarter of an hour; `--quick` is a smoke run.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { median, spread } from "../comparison.ts";
import { type Call, Client } from "../load.ts";
import { cpuUs } from "../process-tree.ts";
import type { Server } from "../server.ts";
import { ownModel, startOurs, startUpstream } from "./ours.ts";
import { toCalls } from "./rounds.ts";

const isQuick = parseArgs({ options: { quick: { type: "boolean" } } }).values.quick;
/** How often each of the thousand accounts chats, and the turns of the others between two of its chats. */
const visits = 3;
const rounds = isQuick ? 1 : 2;
/** Longer than an isolate remembers a key: a turn's first look-ups are a small part of its chats. */
const turnMs = isQuick ? 200 : 10_000;
const coldAccounts = isQuick ? 20 : 1_000;
const connections = 16;
/** Longer than the gateway gathers the log of requests, and wallets what they write to D1. */
const writtenMs = isQuick ? 1_000 : 11_000;
/** Longer than an isolate keeps a key, an object stays in memory, and a wallet keeps an unused grant. */
const quietMs = isQuick ? 1_000 : 75_000;
/** Longer than a wallet that has come back keeps it. */
const returnedMs = isQuick ? 1_000 : 615_000;
const upstream = await startUpstream();

/** A server with accounts of its own, and their chats. */
interface Case {
  server: Server;
  client: Client;
  calls: Call[];
}

async function open(accounts: number): Promise<Case> {
  const { server, callers } = await startOurs(upstream.url, accounts);
  return { server, client: new Client(server.url, connections), calls: toCalls({ callers, model: ownModel }, "whole") };
}

const readCpu = ({ server }: Case) => cpuUs(server.processes);
const [one, hundred, cold] = [await open(1), await open(100), await open(coldAccounts + 100)];
// Compiles the code of each server, and loads the wallets of those whose chats repeat.
for (const { client, calls } of [one, hundred]) await client.run(calls, 4 * Math.max(100, calls.length));
await cold.client.run(cold.calls.splice(coldAccounts), 100);
await sleep(writtenMs);

const pair = [one, hundred] as const;
/** CPU per chat of the one account, by round; and of the hundred as a multiple of it. */
const costs: number[] = [];
const ratios: number[] = [];
async function compare(): Promise<void> {
  const before = [await readCpu(one), await readCpu(hundred)] as const;
  const chats = [0, 0] as [number, number];
  for (const at of costs.length % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
    const { client, calls } = pair[at];
    chats[at] = (await client.run(calls, Infinity, turnMs)).length;
  }
  await sleep(writtenMs);
  const mine = ((await readCpu(one)) - before[0]) / chats[0];
  const others = ((await readCpu(hundred)) - before[1]) / chats[1];
  costs.push(mine);
  ratios.push(others / mine);
}

/** CPU per account of each of its chats with what follows it, and last of the return of what it still has of its grant. */
const coldCosts: number[] = [];
let before = await readCpu(cold);
async function noteCold(): Promise<void> {
  const now = await readCpu(cold);
  coldCosts.push((now - before) / coldAccounts);
  before = now;
}
for (let visit = 0; visit < visits; visit++) {
  await cold.client.run(cold.calls, coldAccounts);
  const until = performance.now() + quietMs;
  for (let round = 0; round < rounds; round++) await compare();
  await sleep(Math.max(0, until - performance.now()));
  await noteCold();
}
await sleep(returnedMs);
await noteCold();

const warm = median(costs);
const [first, second, third, returned] = coldCosts.map((cost) => (cost / warm).toFixed(2));
console.log(`a chat of one account: ${warm.toFixed(0)} us of CPU over ${connections} connections`);
console.log(`of a hundred accounts: ${spread(ratios, 2)} times that`);
console.log(
  `each of ${coldAccounts} accounts after a quiet minute: its first chat ${first} times, the second ${second}, the third ${third}`,
);
console.log(`the return of its grant, once after its last chat: ${returned} times`);

for (const { client, server } of [one, hundred, cold]) {
  client.close();
  await server.stop();
}
upstream.stop();
