/** One client: performs one action after the other, chosen at random, until the load ends. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Chats } from "./chats.ts";
import type { Random } from "./random.ts";
import type { Account, History } from "./history.ts";
import { newOrder } from "./orders.ts";
import { listFiles, type Queries } from "./queries.ts";
import { conflict, repeat, submit } from "./submitting.ts";
import type { HttpClient } from "./http-client.ts";

const actions = {
  image: 18,
  video: 7,
  character: 4,
  remix: 3,
  twice: 3,
  repeat: 5,
  chat: 8,
  stream: 6,
  hangUp: 4,
  poll: 14,
  wait: 6,
  list: 5,
  balance: 6,
  file: 6,
  cancel: 4,
};
/** A client with more open tasks submits no more, so that the load is bounded during a long outage. */
const maxOpen = 12;
const pauseMs = [50, 350] as const;

/** The tools of a client; all but the random source are shared. */
export interface ClientTools {
  account: Account;
  random: Random;
  history: History;
  http: HttpClient;
  queries: Queries;
  chats: Chats;
  /** While the gateway is down nothing new is started; started actions continue. */
  gateway: { readonly isUp: boolean };
}

/** Works until the load ends, and then finishes its current action. */
export async function runClient(tools: ClientTools, stopping: AbortSignal): Promise<void> {
  const { random, history, account, gateway } = tools;
  while (!stopping.aborted) {
    await sleep(random.between(...pauseMs));
    if (!gateway.isUp) continue;
    const action = random.weighted(actions);
    try {
      await perform(action, tools);
    } catch (error) {
      history.fault(`${account.name}, ${action}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

async function perform(action: keyof typeof actions, tools: ClientTools): Promise<void> {
  const { account, random, history, http, queries, chats } = tools;
  const open = history.open(account);
  const answered = history.orders.filter((order) => order.account === account && order.state === "accepted" && order.idempotencyKey);
  switch (action) {
    case "image":
    case "video":
    case "character":
    case "remix":
      if (open.length >= maxOpen) return;
      return submit(newOrder(action, account, history, random), history, http);
    case "twice": {
      if (open.length >= maxOpen) return;
      const order = newOrder("image", account, history, random);
      order.idempotencyKey ??= `key-${order.marker}`;
      // Sent at the same moment, so that both run in the gateway in parallel.
      await Promise.all([submit(order, history, http), submit(order, history, http)]);
      return;
    }
    case "repeat":
      if (answered.length === 0) return;
      return random.chance(0.8) ? repeat(random.pick(answered), history, http) : conflict(random.pick(answered), history, http);
    case "chat":
      return chats.whole(account, random);
    case "stream":
      return chats.streamed(account, random, false);
    case "hangUp":
      return chats.streamed(account, random, true);
    case "poll":
      if (open.length > 0) await queries.taskOfKind(random.pick(open));
      return;
    case "wait":
      if (open.length > 0) await queries.task(random.pick(open), random.pick([1, 2, 3]));
      return;
    case "list":
      return void (await queries.list(account));
    case "balance":
      return queries.balances(account);
    case "file": {
      const completed = history.completed(account);
      const task = completed.length > 0 ? random.pick(completed) : undefined;
      const data = task && (await queries.task(task));
      if (data) await queries.file(random.pick(listFiles(data)), data.id);
      return;
    }
    case "cancel":
      if (open.length > 0) await queries.cancel(random.pick(open));
  }
}
