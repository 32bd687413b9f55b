/** One client: performs one action after the other, chosen at random, until the load ends. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Chats } from "./chats.ts";
import type { Dice } from "./dice.ts";
import type { Account, Journal } from "./journal.ts";
import { newOrder } from "./orders.ts";
import { filesOf, type Queries } from "./queries.ts";
import { conflict, repeat, submit } from "./submitting.ts";
import type { Traffic } from "./traffic.ts";

const deeds = {
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
const mostOpen = 12;
const pauseMs = [50, 350] as const;

/** The tools of a client; all but the random source are shared. */
export interface ClientTools {
  account: Account;
  dice: Dice;
  journal: Journal;
  traffic: Traffic;
  queries: Queries;
  chats: Chats;
  /** While the gateway is down nothing new is started; started actions continue. */
  gateway: { readonly isUp: boolean };
}

/** Works until the load ends, and then finishes its current action. */
export async function runClient(tools: ClientTools, stopping: AbortSignal): Promise<void> {
  const { dice, journal, account, gateway } = tools;
  while (!stopping.aborted) {
    await sleep(dice.between(...pauseMs));
    if (!gateway.isUp) continue;
    const deed = dice.weighted(deeds);
    try {
      await perform(deed, tools);
    } catch (error) {
      journal.fault(`${account.name}, ${deed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
}

async function perform(deed: keyof typeof deeds, tools: ClientTools): Promise<void> {
  const { account, dice, journal, traffic, queries, chats } = tools;
  const open = journal.open(account);
  const answered = journal.orders.filter((order) => order.account === account && order.state === "accepted" && order.idempotencyKey);
  switch (deed) {
    case "image":
    case "video":
    case "character":
    case "remix":
      if (open.length >= mostOpen) return;
      return submit(newOrder(deed, account, journal, dice), journal, traffic);
    case "twice": {
      if (open.length >= mostOpen) return;
      const order = newOrder("image", account, journal, dice);
      order.idempotencyKey ??= `key-${order.marker}`;
      // Sent at the same moment, so that both run in the gateway in parallel.
      await Promise.all([submit(order, journal, traffic), submit(order, journal, traffic)]);
      return;
    }
    case "repeat":
      if (answered.length === 0) return;
      return dice.chance(0.8) ? repeat(dice.pick(answered), journal, traffic) : conflict(dice.pick(answered), journal, traffic);
    case "chat":
      return chats.whole(account, dice);
    case "stream":
      return chats.streamed(account, dice, false);
    case "hangUp":
      return chats.streamed(account, dice, true);
    case "poll":
      if (open.length > 0) await queries.taskOfKind(dice.pick(open));
      return;
    case "wait":
      if (open.length > 0) await queries.task(dice.pick(open), dice.pick([1, 2, 3]));
      return;
    case "list":
      return void (await queries.list(account));
    case "balance":
      return queries.balances(account);
    case "file": {
      const completed = journal.completed(account);
      const task = completed.length > 0 ? dice.pick(completed) : undefined;
      const data = task && (await queries.task(task));
      if (data) await queries.file(dice.pick(filesOf(data)), data.id);
      return;
    }
    case "cancel":
      if (open.length > 0) await queries.cancel(dice.pick(open));
  }
}
