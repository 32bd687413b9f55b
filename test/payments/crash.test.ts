/**
 * The machine stops after each call of D1, the bucket, a wallet or Stripe in turn, before it hears of it, and what is repeated then finishes the
 * work: everything counts exactly once. A stop before a call leaves what a stop after the one before it leaves.
 */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { listCredits } from "../../src/db/credits.ts";
import { insertCodes } from "../../src/db/codes.ts";
import { listPaid } from "../../src/db/payments.ts";
import { findTopUp } from "../../src/db/top-ups.ts";
import { redeemCode } from "../../src/wallet/codes.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import { bindings, dieAt } from "../support/faults.ts";
import { type Account, asAdmin, holdTime } from "../support/gateway.ts";
import { crashWallet } from "../wallet/support.ts";
import type { StripeEvent } from "../support/stripe.ts";
import { type Shop, shopWith } from "./support.ts";

beforeEach(holdTime);

const minute = 60_000;
const day = 1440 * minute;
/** In balance units, also of an erased account. */
const quota = async ({ id }: Account) =>
  (await env.DB.prepare("SELECT (quota - debt) / 1e6 AS units FROM wallet WHERE id = ?1").bind(id).first<number>("units"))!;
const causes = async ({ id }: Account) => (await listCredits(env.DB, id, 50)).map((credit) => credit.id);
const person = { kind: "user", id: "u1", address: null } as const;

/** Runs the cron trigger some times, five minutes apart. */
async function runs(shop: Shop, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    vi.setSystemTime(Date.now() + 5 * minute);
    await shop.run(mail);
  }
}

/** The daily look, and what the runs after it do with what it found. */
async function daysLater(shop: Shop): Promise<void> {
  vi.setSystemTime(Date.now() + day + minute);
  await runs(shop, 3);
}

const mails: string[] = [];
const mail = {
  CONSOLE: { mailTopUp: async ({ accountId }: { accountId: string }) => mails.push(accountId) } as unknown as NonNullable<Env["CONSOLE"]>,
};

/** Sends events in their order, and each of them again. */
async function sendAll(shop: Shop, events: StripeEvent[]): Promise<void> {
  for (const event of [...events, ...events]) expect((await shop.send(event)).status).toBe(200);
}

interface Scene {
  /** The call during which the machine stops. */
  act: () => Promise<unknown>;
  /** What the person, Stripe or the cron trigger repeats. */
  repeat: () => Promise<unknown>;
  /** The quota at the end, and the number of its causes. */
  quota: number;
  credits: number;
  /** The payments at Stripe that were not cancelled. */
  paid?: number;
  check?: () => Promise<void>;
}

/** Pays 20, and has Stripe send what became of it: only the last event is on its way when the machine stops. */
const afterPaying =
  (left: number, credits: number, cause: (shop: Shop, intent: string) => unknown, isKnown = true) =>
  async (shop: Shop, account: Account): Promise<Scene> => {
    const intent = await shop.pay(account, 20);
    if (isKnown) await shop.deliver();
    cause(shop, intent.id);
    const events = shop.stripe.events.splice(0);
    const last = events.findLast(({ type }) => type !== "checkout.session.completed")!;
    return { act: () => shop.send(last), repeat: () => sendAll(shop, events), quota: left, credits };
  };

const settings = { threshold: 5_000_000, amount: 10_000_000, ceiling: 30_000_000 };
const order = ({ id }: Account) => ({ accountId: id, settings, wantsCard: false, returnUrl: "https://gateway.example/" });

/** Each begins with an account with a balance of 1. */
const scenes: Record<string, (shop: Shop, account: Account) => Promise<Scene>> = {
  "an event of a payment": afterPaying(21, 1, () => undefined, false),
  "an event of a refund": afterPaying(16, 2, (shop, intent) => shop.stripe.refund(intent, 500)),
  "an event of a refund before that of its payment": afterPaying(16, 2, (shop, intent) => shop.stripe.refund(intent, 500), false),
  "an event of a refund that failed": afterPaying(21, 3, (shop, intent) =>
    shop.stripe.setRefund(shop.stripe.refund(intent, 500).id, "failed"),
  ),
  "an event of a dispute": afterPaying(1, 2, (shop, intent) => shop.stripe.dispute(intent)),
  "an event of a dispute that was won": afterPaying(21, 3, (shop, intent) => shop.stripe.setDispute(shop.stripe.dispute(intent).id, "won")),
  "an order": async (shop, account) => ({
    act: () => shop.order(account, 10),
    repeat: async () => {
      await shop.pay(account, 10);
      await shop.deliver();
    },
    quota: 11,
    credits: 1,
    check: async () => {
      expect(await listPaid(env.DB, account.id, { limit: 10 })).toHaveLength(1);
      await daysLater(shop);
      const open = "SELECT count(*) AS n FROM payment WHERE account_id = ?1 AND state = 'open' AND session_id IS NULL";
      expect(await env.DB.prepare(open).bind(account.id).first("n")).toBe(0);
    },
  }),
  "a first order of an account that is erased afterwards": async (shop, account) => ({
    act: () => shop.order(account, 10),
    repeat: async () => {
      expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBeLessThan(300);
      await daysLater(shop);
    },
    quota: 1,
    credits: 0,
    check: async () => {
      expect(shop.stripe.customers.size).toBe(0);
      expect(await env.DB.prepare("SELECT count(*) AS n FROM payer WHERE account_id = ?1").bind(account.id).first("n")).toBe(0);
    },
  }),
  "automatic top-up being switched on": async (shop, account) => ({
    act: () => shop.change(order(account)),
    repeat: async () => {
      await shop.topUp(account);
      await runs(shop, 2);
    },
    quota: 11,
    credits: 1,
  }),
  "an event of a stored card": async (shop, account) => {
    const answer = (await shop.change(order(account))) as { url: string };
    shop.stripe.storeCard(answer.url.split("/").at(-1)!);
    const events = shop.stripe.events.splice(0) as [StripeEvent];
    const repeat = async () => {
      await sendAll(shop, events);
      await runs(shop, 2);
    };
    return { act: () => shop.send(events[0]), repeat, quota: 11, credits: 1 };
  },
  "an automatic payment": async (shop, account) => {
    await shop.topUp(account);
    const repeat = async () => {
      await runs(shop, 2);
      await shop.deliver();
    };
    const check = async () => expect(await findTopUp(env.DB, account.id, Date.now())).toMatchObject({ taken: 1000, pausedAt: null });
    return { act: () => runs(shop, 1), repeat, quota: 11, credits: 1, paid: 1, check };
  },
  "an automatic payment on which the bank takes its time": async (shop, account) => {
    await shop.topUp(account, undefined, "slow");
    const repeat = async () => {
      await runs(shop, 2);
      for (const [id, { status }] of shop.stripe.intents) if (status === "processing") shop.stripe.decide(id, true);
      shop.stripe.events.splice(0);
      await runs(shop, 2);
    };
    return { act: () => runs(shop, 1), repeat, quota: 11, credits: 1, paid: 1 };
  },
  "an automatic payment that is declined": async (shop, account) => {
    await shop.topUp(account, undefined, "declined");
    const check = async () => {
      expect([shop.stripe.intents.size, (await findTopUp(env.DB, account.id, Date.now()))?.pausedFor]).toEqual([1, "declined"]);
      // An e-mail whose note was lost is sent again.
      expect(mails.filter((id) => id === account.id).length).toBeGreaterThanOrEqual(1);
    };
    return { act: () => runs(shop, 1), repeat: () => runs(shop, 2), quota: 1, credits: 0, paid: 0, check };
  },
  "the daily look for a payment and a refund without events": async (shop, account) => {
    const intent = await shop.pay(account, 20);
    shop.stripe.refund(intent.id, 500);
    shop.stripe.events.splice(0);
    vi.setSystemTime(Date.now() + day);
    const repeat = async () => {
      await runs(shop, 3);
      // What a wallet that stopped did not take is left for the next day.
      vi.setSystemTime(Date.now() + day);
      await runs(shop, 3);
    };
    return { act: () => shop.run(), repeat, quota: 16, credits: 2 };
  },
  "the deletion of an erased account's customer": async (shop, account) => {
    await shop.pay(account, 20);
    await shop.deliver();
    expect((await asAdmin(`/accounts/${account.id}`, { method: "DELETE" })).status).toBeLessThan(300);
    const check = async () => {
      expect(shop.stripe.customers.size).toBe(0);
      expect(await env.DB.prepare("SELECT count(*) AS n FROM payer WHERE account_id = ?1").bind(account.id).first("n")).toBe(0);
    };
    return { act: () => runs(shop, 1), repeat: () => runs(shop, 2), quota: 21, credits: 1, check };
  },
  "a prepaid code": async (_, account) => {
    const made = await insertCodes(env.DB, { count: 1, amount: 10_000_000, note: null, expiresAt: null }, person);
    const redeem = () => redeemCode(env, account.id, made.codes[0]?.code ?? "", person);
    return { act: redeem, repeat: redeem, quota: 11, credits: 1 };
  },
};

test.each(Object.entries(scenes))(
  "%s: the process ends after each of its calls in turn, and a repeat credits once",
  { timeout: 240_000 },
  async (_, begin) => {
    for (let step = 1; ; step++) {
      const { shop, account } = await shopWith(1);
      const scene = await begin(shop, account);
      const machine = dieAt(step, [
        ...["run", "first"].map((method) => [bindings.statement(), method] as const),
        [bindings.database(), "batch"],
        ...["get", "put"].map((method) => [bindings.bucket(), method] as const),
        ...["credit", "announceKeys", "checkKeys", "balances"].map((method) => [WalletObject.prototype as never, method] as const),
        [shop.answers, "fetch"],
      ]);
      const end = { isOver: false };
      void scene.act().then(
        () => (end.isOver = true),
        () => undefined,
      );
      for (let turn = 0; !end.isOver && !machine.isDead() && turn < 3_000; turn++) await scheduler.wait(1);
      // What runs beside the last call does not begin another one.
      for (let turn = 0; turn < 3; turn++) await scheduler.wait(1);
      machine.revive();
      expect(end.isOver || machine.isDead(), `step ${step} ends or stops`).toBe(true);
      await crashWallet(account);
      await scene.repeat();
      const found = await causes(account);
      expect([step, await quota(account), found.length, new Set(found).size]).toEqual([step, scene.quota, scene.credits, scene.credits]);
      const live = [...shop.stripe.intents.values()].filter(({ status }) => status === "succeeded").length;
      expect([step, live]).toEqual([step, scene.paid ?? live]);
      expect(shop.stripe.customers.size, `step ${step}: customers`).toBeLessThanOrEqual(1);
      await scene.check?.();
      vi.restoreAllMocks();
      if (end.isOver && !machine.isDead()) {
        expect(step, "calls that were stopped").toBeGreaterThan(2);
        return;
      }
    }
  },
);
