/** One client: does one random action after the other, until the load ends. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../support/random.ts";
import type { Chats } from "./chats.ts";
import type { Account, History } from "../engine/history.ts";
import { newOrder, conflict, repeat, submit } from "./submissions.ts";
import { listFiles, type Queries } from "./queries.ts";
import type { HttpClient } from "../engine/http-client.ts";

const actions = [
  [18, "image"],
  [7, "video"],
  [4, "character"],
  [3, "remix"],
  [3, "twice"],
  [5, "repeat"],
  [8, "chat"],
  [6, "stream"],
  [4, "hangUp"],
  [14, "poll"],
  [6, "wait"],
  [5, "list"],
  [6, "balance"],
  [6, "file"],
  [4, "cancel"],
] as const;
type Action = (typeof actions)[number][1];
/** A client with more open tasks submits no more, so that the load is bounded during a long outage. */
const maxOpen = 12;
const pauseMs = [50, 350] as const;

/** The dependencies of a client; all except the random choices are shared. */
export interface ClientTools {
  account: Account;
  random: Random;
  history: History;
  http: HttpClient;
  queries: Queries;
  chats: Chats;
  /** While the gateway is down no new action starts; running actions continue. */
  gateway: { readonly isUp: boolean };
}

/** Works until the load ends, and then finishes its current action. */
export async function runClient(tools: ClientTools, stopping: AbortSignal): Promise<void> {
  const { random, history, account, gateway } = tools;
  while (!stopping.aborted) {
    await sleep(random.between(...pauseMs));
    if (!gateway.isUp) continue;
    const action = random.weighted<Action>(actions);
    try {
      await perform(action, tools);
    } catch (error) {
      history.fault(`${account.name}, ${action}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

async function perform(action: Action, tools: ClientTools): Promise<void> {
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
