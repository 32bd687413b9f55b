/** Once a day: looks for payments, refunds and disputes at Stripe whose events never arrived, and settles them; and for customers that a crash hid. Continues where the last run ended. */

import { dayMs } from "../base/times.ts";
import type { Stripe } from "stripe";
import { readJob, writeJob } from "../db/jobs.ts";
import {
  type Change,
  deleteCustomer,
  deleteOldEvents,
  expirePayments,
  insertCustomers,
  knownIntents,
  knownReturns,
  listErasedCustomers,
  writeChanges,
} from "../db/payments.ts";
import { alert } from "../base/log.ts";
import { accountOf, readPurpose } from "./purpose.ts";
import { disputeState, refundState, settleDispute, settlePaid, settleRefund } from "./settle.ts";
import { type Desk, orMissing } from "./stripe.ts";

/** How far back a look goes: longer than a bank takes for a delayed payment. */
const lookBackMs = 21 * dayMs;
/** Refunds and disputes come up to months after their payment, but are new objects themselves, whose state may change for three months. */
const returnsBackMs = 100 * dayMs;
const keptMs = 40 * dayMs;
/** How long a session of Checkout is open, and Stripe knows its idempotency key. */
const sessionMs = dayMs;
const pagesPerRun = 2;
const pageSize = 100;
const job = "stripe";
/** What a look reads, one after the other. */
const stages = ["intents", "refunds", "disputes", "customers"] as const;
type Stage = (typeof stages)[number];

interface Look {
  /** The day of the last whole look, as its first millisecond. */
  day: number;
  /** A look under way: what it reads, and the last object that it read. */
  stage?: Stage;
  after?: string;
  /** The day on which it began. */
  begun?: number;
}

/** A part of the look, if one is due. Throws if Stripe, a wallet or D1 does not answer: the next run reads the same page again. */
export async function reconcile(desk: Desk, now: number): Promise<void> {
  const today = now - (now % dayMs);
  let look: Look = (await readJob<Look>(desk.db, job)) ?? { day: 0 };
  if (look.day === today) return;
  const begun = look.begun ?? today;
  for (let page = 0; page < pagesPerRun; page++) {
    const stage: Stage = look.stage ?? stages[0];
    const last = await readers[stage](desk, now, look.after);
    const next = last === undefined ? stages[stages.indexOf(stage) + 1] : stage;
    look = next === undefined ? { day: begun } : { day: look.day, begun, stage: next, ...(last !== undefined && { after: last }) };
    await writeJob(desk.db, job, look);
    if (next === undefined) return;
  }
}

/** Reads a page after an object and settles what is missing; returns the last object, undefined at the end of the list. */
type Reader = (desk: Desk, now: number, after: string | undefined) => Promise<string | undefined>;

const pageOf = (since: number, after: string | undefined) => ({
  created: { gte: Math.floor(since / 1000) },
  limit: pageSize,
  ...(after !== undefined && { starting_after: after }),
});
const lastOf = ({ data, has_more }: Stripe.ApiList<{ id: string }>) => (has_more ? data.at(-1)?.id : undefined);

/** One that cannot be settled does not stop the others: the look of the next day tries it again. */
async function settleMissing(desk: Desk, id: string, settle: () => Promise<Change[]>): Promise<void> {
  try {
    const changes = await settle();
    await writeChanges(desk.db, changes);
    // An endpoint that Stripe cannot reach or that lacks an event type: the operator has to look.
    if (changes.length > 0) alert("payment", { outcome: "event_missing", cause: id });
  } catch (error) {
    alert("payment", { outcome: "not_settled", cause: id }, error);
  }
}

const readers: Record<Stage, Reader> = {
  intents: async (desk, now, after) => {
    await deleteOldEvents(desk.db, now - keptMs);
    await expirePayments(desk.db, now - sessionMs, now - lookBackMs);
    const list = await desk.stripe.paymentIntents.list(pageOf(now - lookBackMs, after));
    const paid = list.data.filter(({ status, metadata }) => status === "succeeded" && readPurpose(metadata));
    const known = await knownIntents(
      desk.db,
      paid.map(({ id }) => id),
    );
    for (const intent of paid) if (!known.has(intent.id)) await settleMissing(desk, intent.id, () => settlePaid(desk, intent));
    return lastOf(list);
  },
  refunds: async (desk, now, after) => {
    const list = await desk.stripe.refunds.list(pageOf(now - returnsBackMs, after));
    const known = await knownReturns(
      desk.db,
      list.data.map((refund) => ({ id: refund.id, state: refundState(refund) })),
    );
    for (const refund of list.data) if (!known.has(refund.id)) await settleMissing(desk, refund.id, () => settleRefund(desk, refund));
    return lastOf(list);
  },
  disputes: async (desk, now, after) => {
    const list = await desk.stripe.disputes.list(pageOf(now - returnsBackMs, after));
    const taken = list.data.flatMap((dispute) => {
      const state = disputeState(dispute);
      return state ? [{ dispute, state }] : [];
    });
    const known = await knownReturns(
      desk.db,
      taken.map(({ dispute, state }) => ({ id: dispute.id, state })),
    );
    for (const { dispute } of taken) if (!known.has(dispute.id)) await settleMissing(desk, dispute.id, () => settleDispute(desk, dispute));
    return lastOf(list);
  },
  // One that was made just before a crash, so that it is deleted when its account is erased.
  customers: async (desk, now, after) => {
    const list = await desk.stripe.customers.list(pageOf(now - lookBackMs, after));
    await insertCustomers(
      desk.db,
      list.data.map(({ id, metadata }) => ({ accountId: accountOf(metadata), customerId: id })),
      now,
    );
    return lastOf(list);
  },
};

/** Deletes the customers of erased accounts at Stripe, which keeps their payments as the law asks. */
export async function deleteErased({ db, stripe }: Pick<Desk, "db" | "stripe">): Promise<void> {
  for (const { accountId, customerId } of await listErasedCustomers(db, 20)) {
    await stripe.customers.del(customerId).catch(orMissing);
    await deleteCustomer(db, accountId);
  }
}
