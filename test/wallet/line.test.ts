/** Chats' calls that share a call of their wallet: each takes effect once, whatever becomes of the call or of the request that makes it. */

import "../support/alone.ts";
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { holdForChat } from "../../src/api/chat/hold.ts";
import { settleChat } from "../../src/wallet/settlements.ts";
import { type ChatCall, holdTogether } from "../../src/wallet/line.ts";
import { WalletObject } from "../../src/wallet/object.ts";
import { failWalletOnce } from "../support/faults.ts";
import { type Account, holdTime, newAccount, readBalance, shortenPauses } from "../support/gateway.ts";
import { crashWallet, expectFinal, expectSound, type Known, newCharge, openWallet, wake } from "./support.ts";

holdTime();
shortenPauses();
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

/** Holds as chats do: a call that was lost is repeated alone. */
async function reserveAll(calls: ChatCall[]): Promise<void> {
  const wallet = ({ charge }: ChatCall) => env.WALLETS.getByName(charge.accountId);
  await Promise.all(
    calls.map(async (call) => {
      if (await holdTogether(env.WALLETS, call, true)) return;
      expect(await wallet(call).reserve(call.charge, call.held, { deadline: deadline() })).toEqual({ answer: "reserved" });
    }),
  );
}
const settleAll = (calls: ChatCall[], charged: number) =>
  Promise.all(calls.map(async ({ charge }) => settleChat(env, { charge, held, charged, outcome: "completed" })));

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

test("holds at the same time go together behind the first one, and each has its own answer", async () => {
  const { account, first } = await spender();
  const batches = vi.spyOn(WalletObject.prototype, "chats");
  const calls = Array.from({ length: 10 }, () => toHold(account));
  const tooMuch = { ...toHold(account), held: 2_000_000 };
  const answers = await Promise.all([...calls, tooMuch].map((call) => holdTogether(env.WALLETS, call, true)));
  expect(answers).toEqual([...calls.map(() => true), false]);
  expect(batches.mock.calls.map(([together]) => together.length)).toEqual([1, 10]);
  await expectSound(account, [first, ...calls.map(({ charge }) => ({ charge, amount: held }))]);
  await settleAll(calls, 400);
  expect(await holdTogether(env.WALLETS, toHold(account), false)).toBe(true);
});

test("settlements gather for fifty milliseconds or 64 of them, and go in one call", async () => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 70 }, () => toHold(account));
  await reserveAll(calls);
  const batches = vi.spyOn(WalletObject.prototype, "chats");
  const waits = vi.spyOn(scheduler, "wait");
  await settleAll(calls, 700);
  expect(batches.mock.calls.map(([together]) => together.length)).toEqual([64, 6]);
  // Shorter waits are those of other work in this runtime.
  expect(waits.mock.calls.flat().filter((ms) => Number(ms) >= 50)).toEqual([50, 1_050, 50, 1_050]);
  await expectOnce(account, first, calls, 700);
});

test("the settlements of a request that died while it gathered are sent with the next one's", async () => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 3 }, () => toHold(account));
  await reserveAll(calls);
  vi.spyOn(scheduler, "wait").mockReturnValueOnce(new Promise(() => undefined));
  void settleAll(calls.slice(0, 2), 700);
  vi.setSystemTime(Date.now() + 2_000);
  await settleAll(calls.slice(2), 700);
  await expectOnce(account, first, calls, 700);
});

test("the settlements of a request that died while it gathered are sent by the second request of the batch, without another chat", async () => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 3 }, () => toHold(account));
  await reserveAll(calls);
  const waits = vi
    .spyOn(scheduler, "wait")
    .mockReturnValueOnce(new Promise(() => undefined))
    .mockResolvedValue();
  const settled = calls.map(({ charge }) => settleChat(env, { charge, held, charged: 700, outcome: "completed" }));
  await settled[1];
  expect([waits.mock.calls, settled[2]]).toEqual([[[50], [1_050]], undefined]);
  await expectOnce(account, first, calls, 700);
});

test("of chats that are settled together only those that the wallet does not know go in calls of their own", async () => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 2 }, () => toHold(account));
  await reserveAll(calls);
  const alone = vi.spyOn(WalletObject.prototype, "settle");
  const unknown = newCharge(account, "chat");
  await settleAll([...calls, { charge: unknown, held, deadline: deadline() }], 700);
  expect(alone.mock.calls.map(([{ taskId }]) => taskId)).toEqual([unknown.taskId]);
  // It never held anything: nothing is charged, and it can hold nothing any more.
  expect(await holdTogether(env.WALLETS, { charge: unknown, held, deadline: deadline() }, false)).toBe(false);
  await expectOnce(account, first, calls, 700);
});

test("calls of different accounts go to their own wallets", async () => {
  const [one, other] = [await spender(), await spender()];
  const calls = Array.from({ length: 6 }, (_, at) => toHold((at % 2 === 0 ? one : other).account));
  await reserveAll(calls);
  await settleAll(calls, 10);
  const of = ({ id }: Account) => calls.filter(({ charge }) => charge.accountId === id);
  for (const { account, first } of [one, other]) await expectOnce(account, first, of(account), 10);
});

test.each([false, true])("each chat of a lost call is held and settled once: the lost one took effect %s", async (isDone) => {
  const { account, first } = await spender();
  const calls = Array.from({ length: 8 }, () => toHold(account));
  failWalletOnce(account, "chats", isDone, 2);
  await reserveAll(calls);
  await expectSound(account, [first, ...calls.map(({ charge }) => ({ charge, amount: held }))]);
  failWalletOnce(account, "chats", isDone, 2);
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
  expect(time).toBeGreaterThanOrEqual(3);
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

test("behind a call without an answer others go together two milliseconds after it", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const { sent, wallets } = dying(1);
  const next = someCall();
  void holdTogether(wallets, next(), true);
  await vi.advanceTimersByTimeAsync(1);
  const waiting = [holdTogether(wallets, next(), true), holdTogether(wallets, next(), true)];
  expect(sent).toEqual([1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(await Promise.all(waiting)).toEqual([true, true]);
  expect(sent).toEqual([1, 2]);
});

test("if the request that makes a call has died, those that it took along give up after two seconds, and later ones go at once", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const { sent, wallets } = dying(2);
  const next = someCall();
  void holdTogether(wallets, next(), true);
  void holdTogether(wallets, next(), true);
  const taken = [holdTogether(wallets, next(), true), holdTogether(wallets, next(), true)];
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await Promise.all(taken)).toEqual([undefined, undefined]);
  expect(sent).toEqual([1, 3]);
  expect(await holdTogether(wallets, next(), true)).toBe(true);
  expect(sent).toEqual([1, 3, 1]);
});

test("if the request that waits first has died, the next one takes its call and the others' along", async () => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"], now: Date.now() });
  const { sent, wallets } = dying(1);
  const next = someCall();
  void holdTogether(wallets, next(), true);
  const timeout = vi.spyOn(globalThis, "setTimeout").mockReturnValueOnce(0); // its timer died with it
  void holdTogether(wallets, next(), true);
  timeout.mockRestore();
  const second = holdTogether(wallets, next(), true);
  await vi.advanceTimersByTimeAsync(5);
  expect(sent).toEqual([1]);
  expect(await holdTogether(wallets, next(), true)).toBe(true);
  expect(await second).toBe(true);
  expect(sent).toEqual([1, 3]);
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
  const context = createExecutionContext();
  const refused = await holdForChat(env, context, charge, held).catch((error: unknown) => error);
  await waitOnExecutionContext(context);
  expect(refused).toMatchObject({ code: "insufficient_quota" });
  expect(lost).toHaveLength(1);
  expect(await env.WALLETS.getByName(account.id).chats(lost)).toEqual([false]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
