/** A wallet that is away when a chat ends: the queue keeps the charge, and whatever comes first afterwards, the chat is charged once. Contract 4. */

import { createExecutionContext, createMessageBatch, getQueueResult, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, type MockInstance, test, vi } from "vitest";
import type { SettlementMessage } from "../../../src/wallet/late-settlements.ts";
import worker from "../../../src/worker.ts";
import { bindings, failOnce, failWalletOnce, spyOn } from "../../support/faults.ts";
import { type Account, readBalance, newAccount, wakeWallet } from "../../support/gateway.ts";
import { capture } from "../../providers/support.ts";
import { crashWallet } from "../../wallet/support.ts";

afterEach(() => void vi.useRealTimers());

/** 10 prompt tokens at 2 and 2 completion tokens at 8 millionths each. */
const price = 0.000036;
/** Attempts of a settlement together with others; one alone follows, and then the queue. */
const attempts = 10;

/** The calls that sent a settlement of this account: chats of earlier files may still be settled. */
const settlementsIn = (sends: MockInstance, account: Account) =>
  (sends.mock.calls as [SettlementMessage, unknown][]).filter(([body]) => body.settlement?.charge.accountId === account.id);

/** A chat whose wallet is away at its end; returns the answer and what the gateway has sent to the queue. */
async function chatWithoutWallet(account: Account, isStream = false): Promise<{ status: number; text: string; sent: SettlementMessage[] }> {
  failWalletOnce(account, "chats", false, 1 + attempts); // the hold then goes alone, and succeeds
  failWalletOnce(account, "settle");
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const request = new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: "hi" }], stream: isStream }),
  });
  const context = createExecutionContext();
  const answer = await worker.fetch(request, env, context);
  const text = await answer.text();
  await waitOnExecutionContext(context);
  return { status: answer.status, text, sent: settlementsIn(sends, account).map(([body]) => body) };
}

/** Delivers the message for the `attempt`-th time. Returns "ack", or the seconds until the queue delivers it again. */
async function deliverSettlement(body: SettlementMessage, attempt = 1, queue = "gateway-notify"): Promise<"ack" | number | undefined> {
  const batch = createMessageBatch(queue, [{ id: "1", timestamp: new Date(), attempts: attempt, body }]);
  const retries = vi.spyOn(batch.messages[0]!, "retry");
  await worker.queue(batch, env, createExecutionContext());
  const { explicitAcks } = await getQueueResult(batch, createExecutionContext());
  return explicitAcks.length > 0 ? "ack" : retries.mock.calls[0]?.[0]?.delaySeconds;
}

const isHeld = async (account: Account) => {
  const { reserved, used } = await readBalance(account);
  expect([reserved > 0, used]).toEqual([true, 0]);
};

test.each([false, true])("the caller gets its whole answer, and the queue charges it once: stream %s", async (isStream) => {
  const account = await newAccount();
  const { status, text, sent } = await chatWithoutWallet(account, isStream);
  expect([status, isStream ? text.endsWith("data: [DONE]\n\n") : "choices" in JSON.parse(text)]).toEqual([200, true]);
  expect(sent).toMatchObject([{ v: 2, settlement: { charge: { accountId: account.id }, charged: 36, outcome: "completed" } }]);
  await isHeld(account);
  for (const queue of ["gateway-notify", "gateway-dead"]) {
    expect(await deliverSettlement(sent[0]!, 1, queue)).toBe("ack");
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
  }
});

test("the queue asks again each minute for as long as the wallet is away, without end", async () => {
  const account = await newAccount();
  const { sent } = await chatWithoutWallet(account);
  failWalletOnce(account, "settle", false, 6);
  const sends = spyOn(bindings.queue(), "send").mockClear();
  for (const attempt of [1, 2, 3]) expect(await deliverSettlement(sent[0]!, attempt)).toBe(60);
  expect(settlementsIn(sends, account)).toEqual([]);
  // The queue gives up after six attempts, so the message is sent again before.
  expect(await deliverSettlement(sent[0]!, 4)).toBe("ack");
  expect(settlementsIn(sends, account)).toEqual([[sent[0], { delaySeconds: 60 }]]);
  failOnce(bindings.queue(), "send");
  expect(await deliverSettlement(sent[0]!, 4)).toBe(60);
  expect(await deliverSettlement(sent[0]!, 5, "gateway-dead")).toBe("ack");
  await isHeld(account);
  expect(await deliverSettlement(sent[0]!)).toBe("ack");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("a wallet that comes back after the deadline waits for settlements before it releases the hold", async () => {
  const account = await newAccount();
  const { sent } = await chatWithoutWallet(account);
  await crashWallet(account);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1_200_000 });
  await wakeWallet(account);
  await isHeld(account);
  expect(await deliverSettlement(sent[0]!)).toBe("ack");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("a wallet that was away and gets no settlement releases the hold five minutes after its return", async () => {
  const account = await newAccount();
  await chatWithoutWallet(account);
  await crashWallet(account);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1_200_000 });
  await wakeWallet(account);
  vi.setSystemTime(Date.now() + 299_000);
  await wakeWallet(account);
  await isHeld(account);
  vi.setSystemTime(Date.now() + 2_000);
  await wakeWallet(account);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("an idle wallet that leaves memory meanwhile releases the hold five minutes after its return too", async () => {
  const account = await newAccount();
  await chatWithoutWallet(account);
  await crashWallet(account);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1_200_000 });
  await wakeWallet(account);
  vi.setSystemTime(Date.now() + 150_000);
  await crashWallet(account);
  await wakeWallet(account);
  await isHeld(account);
  vi.setSystemTime(Date.now() + 151_000);
  await crashWallet(account);
  await wakeWallet(account);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a queue that is away once too still gets the charge, so that the chat is not free", async () => {
  const account = await newAccount();
  failOnce(bindings.queue(), "send", false, attempts - 1);
  const { sent } = await chatWithoutWallet(account);
  expect(sent).toHaveLength(attempts);
  expect(await deliverSettlement(sent.at(-1)!)).toBe("ack");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("if the queue refuses the charge for as long, the caller has its answer, the log says so, and the hold ends at its deadline", async () => {
  const account = await newAccount();
  const lines = capture();
  failOnce(bindings.queue(), "send", false, attempts);
  expect((await chatWithoutWallet(account)).status).toBe(200);
  expect(lines.filter((line) => line.includes('"not_sent"'))).toEqual([expect.stringContaining(account.id)]);
  await isHeld(account);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 901_000 });
  await wakeWallet(account);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
