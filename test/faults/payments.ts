/** The operations of a run about money: orders, what people and banks do at Stripe, its events and the cron trigger; and what must hold at the end. */

import { env } from "cloudflare:workers";
import { expect } from "vitest";
import { readRow } from "../wallet/support.ts";
import { listCredits } from "../../src/db/credits.ts";
import { reconcile } from "../../src/payments/reconcile.ts";
import { runTopUps } from "../../src/payments/top-up.ts";
import { Shop } from "../payments/support.ts";
import type { Account } from "../support/gateway.ts";
import type { StripeEvent, StripeObject } from "../support/stripe.ts";
import { watch } from "./bindings.ts";
import { advance, type Bank, type World } from "./world.ts";

const dayMs = 86_400_000;
/** Of automatic top-up, in balance units. */
const settings = { threshold: 5, amount: 10, ceiling: 30 };

/** Stripe in memory behind faults, and the accounts that pay there. */
export class StripeBank implements Bank {
  readonly #world: World;
  readonly #shop = new Shop();
  /** What each account had before it paid, in millionths. An account without a limit pays nothing. */
  readonly #payers = new Map<Account, number>();
  /** Events that were delivered: Stripe may send one again. */
  readonly #sent: StripeEvent[] = [];
  /** How many times a person has saved automatic top-up, which ends a pause. */
  #saved = 0;
  #looks = 0;

  private constructor(world: World) {
    this.#world = world;
  }

  /** A new account at Stripe, of which the database does not know anything yet. */
  static async open(world: World): Promise<StripeBank> {
    const bank = new StripeBank(world);
    await env.DB.batch(
      ["DELETE FROM top_up", "DELETE FROM payment", "DELETE FROM payer", "DELETE FROM upkeep WHERE job LIKE 'stripe%'"].map((sql) =>
        env.DB.prepare(sql),
      ),
    );
    for (const account of world.accounts) {
      const { quota } = await readRow(account);
      if (quota !== null) bank.#payers.set(account, quota);
    }
    watch(bank.#shop.answers, "fetch", world.faultInjector, (_, [request]) => {
      const { method, url } = request as Request;
      return { name: `Stripe ${method} ${new URL(url).pathname.replace(/_\w+$/, "")}`, failure: "connection lost" };
    });
    return bank;
  }

  get #stripe() {
    return this.#shop.stripe;
  }

  /** With e-mail that may fail. */
  #desk() {
    const { faultInjector } = this.#world;
    const mailTopUp = () => faultInjector.through({ name: "mail", failure: "not accepted", effect: async () => true });
    return this.#shop.desk({ CONSOLE: { mailTopUp } as unknown as NonNullable<Env["CONSOLE"]> });
  }

  #pick<T>(list: Iterable<T>): T | undefined {
    const all = [...list];
    return all.length > 0 ? this.#world.random.pick(all) : undefined;
  }

  readonly #acts: (readonly [weight: number, name: string, act: () => Promise<string>])[] = [
    [
      3,
      "order",
      async () => {
        const account = this.#pick(this.#payers.keys());
        return account ? String((await this.#shop.order(account, this.#world.random.pick([5, 10, 25]))).status) : "no payer";
      },
    ],
    [
      4,
      "pay",
      async () => {
        const session = this.#pick([...this.#stripe.sessions.values()].filter(({ status }) => status === "open"));
        if (!session) return "no session";
        if (session["mode"] === "setup")
          this.#stripe.storeCard(session.id, this.#world.random.pick(["good", "good", "declined", "asks", "slow"]));
        else if (this.#world.random.chance(0.1)) this.#stripe.expire(session.id);
        else this.#stripe.pay(session.id);
        session["status"] = "complete";
        return String(session["mode"]);
      },
    ],
    [
      8,
      "event",
      async () => {
        const { random } = this.#world;
        const { events } = this.#stripe;
        const event = random.chance(0.2) ? this.#pick(this.#sent) : this.#pick(events);
        if (!event) return "no event";
        const lose = () => {
          const at = events.indexOf(event);
          if (at >= 0) events.splice(at, 1);
        };
        if (random.chance(0.1)) {
          lose();
          return `${event.type} lost`;
        }
        const { status } = await this.#shop.send(event);
        if (status === 200) {
          lose();
          this.#sent.push(event);
        }
        return `${event.type} ${status}`;
      },
    ],
    [
      1,
      "refund",
      async () => {
        const intent = this.#pick(this.#live().filter(({ id }) => this.#returned(id) === 0));
        if (!intent) return "no payment";
        const refund = this.#stripe.refund(intent.id, this.#world.random.pick([100, 300, intent["amount"] as number]));
        if (this.#world.random.chance(0.3)) this.#stripe.setRefund(refund.id, "failed");
        return String(refund["status"]);
      },
    ],
    [
      1,
      "dispute",
      async () => {
        const open = this.#pick([...this.#stripe.disputes.values()].filter(({ status }) => status === "needs_response"));
        if (open && this.#world.random.chance(0.5)) {
          this.#stripe.setDispute(open.id, this.#world.random.pick(["won", "lost"]));
          return String(open["status"]);
        }
        const intent = this.#pick(this.#live().filter(({ id }) => this.#returned(id) === 0));
        return intent ? String(this.#stripe.dispute(intent.id)["status"]) : "no payment";
      },
    ],
    [
      2,
      "top-up settings",
      async () => {
        // One account: several at once would be in an undefined order, which a seed could not repeat.
        const account = [...this.#payers.keys()][0];
        if (!account) return "no payer";
        const isOff = this.#world.random.chance(0.2);
        const wanted = isOff
          ? null
          : { threshold: 1e6 * settings.threshold, amount: 1e6 * settings.amount, ceiling: 1e6 * settings.ceiling };
        this.#saved++;
        const order = {
          accountId: account.id,
          settings: wanted,
          wantsCard: this.#world.random.chance(0.2),
          returnUrl: "https://gateway.example/",
        };
        const answer = await this.#shop.change(order).catch(() => ({ refused: "unanswered" }));
        return isOff ? "off" : (answer.refused ?? "on");
      },
    ],
    [
      1,
      "the bank decides",
      async () => {
        const intent = this.#pick([...this.#stripe.intents.values()].filter(({ status }) => status === "processing"));
        if (intent) this.#stripe.decide(intent.id, this.#world.random.chance(0.7));
        return String(intent?.["status"] ?? "no payment");
      },
    ],
    [
      5,
      "top-ups",
      async () => {
        advance(300);
        return runTopUps(this.#desk(), env).then(
          () => "run",
          () => "failed",
        );
      },
    ],
    [
      2,
      "look",
      async () =>
        reconcile(this.#desk(), Date.now() + dayMs * ++this.#looks).then(
          () => "looked",
          () => "failed",
        ),
    ],
  ];

  async act(): Promise<string> {
    const [name, act] = this.#world.random.weighted(this.#acts.map(([weight, ...act]) => [weight, act] as const));
    return `${name} ${await act()}`;
  }

  #live(): StripeObject[] {
    return [...this.#stripe.intents.values()].filter(({ status }) => status === "succeeded");
  }

  /** What refunds and disputes have taken of a payment, in cents. */
  #returned(intentId: string): number {
    const taken = (list: Iterable<StripeObject>, ends: string[]) =>
      [...list]
        .filter((one) => one["payment_intent"] === intentId && !ends.includes(one["status"] as string))
        .reduce((sum, one) => sum + (one["amount"] as number), 0);
    return taken(this.#stripe.refunds.values(), ["failed"]) + taken(this.#stripe.disputes.values(), ["won"]);
  }

  /** No more faults: banks decide, all events arrive, and the cron trigger runs for some days. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      this.#decideAll();
      await this.#shop.deliver();
      advance(300);
      await runTopUps(this.#desk(), env);
      this.#decideAll();
    }
    for (let turn = 0; turn < 6; turn++) await reconcile(this.#desk(), Date.now() + dayMs * ++this.#looks);
  }

  /** Banks accept what they had not decided about. */
  #decideAll(): void {
    for (const { id, status } of this.#stripe.intents.values()) if (status === "processing") this.#stripe.decide(id, true);
  }

  /** Each account has what Stripe took for it, less what went back, once; and automatic top-up kept to its ceiling. */
  async check(): Promise<void> {
    let automatic = 0;
    for (const [account, before] of this.#payers) {
      const own = this.#live().filter(({ metadata }) => metadata.gateway_account === account.id);
      const left = own.reduce((sum, { id, amount }) => sum + 10_000 * ((amount as number) - this.#returned(id)), before);
      const row = await readRow(account);
      expect((row.quota ?? 0) - row.debt, "quota").toBe(left);
      const credits = await listCredits(env.DB, account.id, 1_000);
      expect(
        credits.reduce((sum, { amount }) => sum + amount, before),
        "credits",
      ).toBe(left);
      const payments = await env.DB.prepare("SELECT intent_id AS id, state, automatic FROM payment WHERE account_id = ?1")
        .bind(account.id)
        .run<{ id: string; state: string; automatic: number }>();
      const paid = payments.results.filter(({ state }) => state === "paid").map(({ id }) => id);
      expect(paid.toSorted(), "payments").toEqual(own.map(({ id }) => id).toSorted());
      expect(
        payments.results.filter((one) => one.state === "open" && one.automatic === 1),
        "open top-ups",
      ).toEqual([]);
      automatic += own.filter(({ metadata }) => metadata.gateway_automatic === "1").length;
    }
    const months = 2; // a run may begin in one and end in the next
    expect(automatic * settings.amount).toBeLessThanOrEqual(months * settings.ceiling);
    const failed = [...this.#stripe.intents.values()].filter(({ status }) => status === "canceled").length;
    expect(failed, "payments that failed, at most one for each time that a person switched top-up on").toBeLessThanOrEqual(this.#saved);
    expect(this.#stripe.customers.size, "customers").toBeLessThanOrEqual(this.#payers.size);
  }
}
