/** Chats' calls that share a call of their wallet: each takes effect once, whatever becomes of the call or of the request that makes it. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { holdForChat } from "../../src/api/chat-hold.ts";
import { Watch } from "../../src/api/watch.ts";
import { type ChatCall, callTogether } from "../../src/tasks/wallet-line.ts";
import { WalletObject } from "../../src/tasks/wallet-object.ts";
import { failOnce } from "../support/faults.ts";
import { type Account, holdTime, newAccount, readBalance } from "../support/gateway.ts";
import { crashWallet, expectFinal, expectSound, type Known, newCharge, openWallet, wake } from "./support.ts";

holdTime();
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  holdTime();
});

const held = 1_000;
const deadline = () => Date.now() + 660_000;
const toHold = (account: Account): ChatCall => ({ charge: newCharge(account, "chat"), held, deadline: deadline() });

/** An account whose wallet has a grant. */
async function spender() {
  const account = await newAccount(1);
  const charge = newCharge(account);
  await openWallet(account).reserve(charge, 90_000, {});
  await openWallet(account).settle(charge, 0, "cancelled");
  return { account, first: { charge, amount: 90_000, charged: 0 } };
}

/** Ends the gathering of the calls before: the clock stands still otherwise. */
const endGathering = () => vi.setSystemTime(Date.now() + 5);

/** Makes the calls as chats do: one that was lost is repeated alone. */
async function reserveAll(calls: ChatCall[]): Promise<void> {
  endGathering();
  const wallet = ({ charge }: ChatCall) => env.WALLETS.getByName(charge.accountId);
  await Promise.all(
    calls.map(async (call) => {
      if (await callTogether(env.WALLETS, call, new Watch(), true)) return;
      expect(await wallet(call).reserve(call.charge, call.held, { deadline: deadline() })).toEqual({ answer: "reserved" });
    }),
  );
}
async function settleAll(calls: ChatCall[], charged: number): Promise<void> {
  endGathering();
  await Promise.all(
    calls.map(async ({ charge }) => {
      if (await callTogether(env.WALLETS, { charge, held, charged, outcome: "completed" }, new Watch(), true)) return;
      await env.WALLETS.getByName(charge.accountId).settle(charge, charged, "completed", held);
    }),
  );
}

interface Methods {
  chats: (this: WalletObject, calls: ChatCall[]) => Promise<boolean[]>;
}

/** After everything is written: each call has one entry with this charge. */
async function expectOnce(account: Account, first: Known, calls: ChatCall[], charged: number): Promise<void> {
  const known = [first, ...calls.map(({ charge }) => ({ charge, amount: held, charged }))];
  await expectSound(account, known);
  for (let round = 0; round < 3; round++) {
    vi.setSystemTime(Date.now() + 70_000);
    await wake(account);
  }
  await expectFinal(account, known);
}

test("calls at the same time go together behind the first one, and each has its own answer", async () => {
  const { account, first } = await spender();
  const batches = vi.spyOn(WalletObject.prototype, "chats");
  const calls = Array.from({ length: 10 }, () => toHold(account));
  const tooMuch = { ...toHold(account), held: 2_000_000 };
  const answers = await Promise.all([...calls, tooMuch].map((call) => callTogether(env.WALLETS, call, new Watch(), true)));
  expect(answers).toEqual([...calls.map(() => true), false]);
  expect(batches.mock.calls.map(([together]) => together.length)).toEqual([1, 10]);
  await expectSound(account, [first, ...calls.map(({ charge }) => ({ charge, amount: held }))]);
  await settleAll(calls, 400);
  expect(await callTogether(env.WALLETS, toHold(account), new Watch(), false)).toBe(true);
  endGathering();
  // Settled already, and never reserved: the second one needs a call of its own.
  const ended = (charge: ChatCall["charge"]) =>
    callTogether(env.WALLETS, { charge, held, charged: 1, outcome: "completed" }, new Watch(), true);
  expect(await ended(calls[0]!.charge)).toBe(true);
  expect(await ended(newCharge(account, "chat"))).toBe(false);
});

test("calls of different accounts go to their own wallets", async () => {
  const [one, other] = [await spender(), await spender()];
  const calls = Array.from({ length: 6 }, (_, at) => toHold((at % 2 === 0 ? one : other).account));
  await reserveAll(calls);
  await settleAll(calls, 10);
  const of = ({ id }: Account) => calls.filter(({ charge }) => charge.accountId === id);
  for (const { account, first } of [one, other]) await expectOnce(account, first, of(account), 10);
});

test.each([false, true])("each call of a lost one is repeated and takes effect once: the lost one did %s", async (isDone) => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 8 }, () => toHold(account));
  failOnce(WalletObject.prototype as never, "chats", isDone, 2);
  await reserveAll(calls);
  await expectSound(account, [first, ...calls.map(({ charge }) => ({ charge, amount: held }))]);
  failOnce(WalletObject.prototype as never, "chats", isDone, 2);
  await settleAll(calls, 700);
  await expectOnce(account, first, calls, 700);
});

test("an object that crashes during the calls has held and settled each of them once", async () => {
  const { account, first } = await spender();
  const { chats } = WalletObject.prototype as unknown as Methods;
  let time = 0;
  vi.spyOn(WalletObject.prototype, "chats").mockImplementation(async function (this: WalletObject, together) {
    const answers = await chats.call(this, together);
    if (++time % 2 === 0) (this as unknown as { ctx: DurableObjectState }).ctx.abort("scripted crash");
    return answers;
  });
  const calls = Array.from({ length: 8 }, () => toHold(account));
  await reserveAll(calls);
  await settleAll(calls, 300);
  expect(time).toBeGreaterThanOrEqual(4);
  await crashWallet(account);
  await expectOnce(account, first, calls, 300);
});

/** Wallets whose first calls never answer, as when the request that made them has died. */
function dying(times: number) {
  const sent: number[] = [];
  const chats = (calls: ChatCall[]) => {
    sent.push(calls.length);
    return sent.length <= times ? new Promise<never>(() => undefined) : Promise.resolve(calls.map(() => true));
  };
  return { sent, wallets: { getByName: () => ({ chats }) } };
}
const someCall = (id = crypto.randomUUID()): (() => ChatCall) => {
  const account = { id, keyId: "key", key: "" };
  return () => toHold(account);
};

test("behind a request that died a call waits until the next one comes, ten milliseconds later, which takes it along", async () => {
  const { sent, wallets } = dying(1);
  const next = someCall();
  void callTogether(wallets, next(), new Watch(), true);
  const waiting = callTogether(wallets, next(), new Watch(), true);
  vi.setSystemTime(Date.now() + 11);
  expect(await callTogether(wallets, next(), new Watch(), true)).toBe(true);
  expect(await waiting).toBe(true);
  expect(sent).toEqual([1, 2]);
});

test("behind a request that died each call gives up after two seconds, and later ones go at once", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const { sent, wallets } = dying(1);
  const next = someCall();
  void callTogether(wallets, next(), new Watch(), true);
  const waiting = [callTogether(wallets, next(), new Watch(), true), callTogether(wallets, next(), new Watch(), true)];
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await Promise.all(waiting)).toEqual([undefined, undefined]);
  expect(await callTogether(wallets, next(), new Watch(), true)).toBe(true);
  expect(sent).toEqual([1, 1]);
});

/** The wallets of `dying`, after a call for three chats and on a clock that the test moves. */
async function gathering() {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const { sent, wallets } = dying(0);
  const next = someCall();
  const ask = (watch = new Watch()) => callTogether(wallets, next(), watch, true);
  await Promise.all([ask(), ask(), ask(), ask()]);
  expect(sent).toEqual([1, 3]);
  return { sent, ask };
}

test("after a call for several chats the next one is sent four milliseconds later, for all that came meanwhile", async () => {
  const { sent, ask } = await gathering();
  const first = ask();
  await vi.advanceTimersByTimeAsync(3);
  const second = ask();
  expect(sent).toEqual([1, 3]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await Promise.all([first, second])).toEqual([true, true]);
  expect(sent).toEqual([1, 3, 2]);
  // A call for two gathers no more.
  expect(await ask()).toBe(true);
  expect(sent).toEqual([1, 3, 2, 1]);
});

test("if the request that gathers has died, the next chat takes its call along", async () => {
  const { sent, ask } = await gathering();
  const dead = new Watch();
  const gatherer = ask(dead);
  dead.stop();
  const second = ask();
  await vi.advanceTimersByTimeAsync(4);
  expect(sent).toEqual([1, 3]);
  expect(await ask()).toBe(true);
  expect(await Promise.all([gatherer, second])).toEqual([true, true]);
  expect(sent).toEqual([1, 3, 3]);
});

test("a refused chat whose shared call was lost holds nothing when that call comes after all", async () => {
  const { account } = await spender();
  const charge = newCharge(account, "chat");
  let lost: ChatCall[] = [];
  vi.spyOn(WalletObject.prototype, "chats").mockImplementationOnce(async (calls) => {
    lost = structuredClone(calls);
    throw new Error("scripted fault");
  });
  vi.spyOn(WalletObject.prototype, "reserve").mockResolvedValueOnce({ answer: "insufficient" });
  const refused = await holdForChat(env, charge, held, new Watch()).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "insufficient_quota" });
  expect(lost).toHaveLength(1);
  expect(await env.WALLETS.getByName(account.id).chats(lost)).toEqual([false]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
