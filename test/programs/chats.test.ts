/** Many chats of one key at once, on the real runtime: there they share calls of their wallet, which the test runner's requests cannot. */

import { expect, test, vi } from "vitest";
import { gateway, newKey } from "./support/account.ts";

const many = 60;

async function readBalance(key: string) {
  const answer = await fetch(`${gateway.baseUrl}/v1/user/balance`, { headers: { authorization: `Bearer ${key}` } });
  return (await answer.json()) as { remain_balance: number; used_balance: number };
}

test("each of many chats is charged once, also while others hang up, and nothing stays held", async () => {
  const key = await newKey("many-chats", 10);
  const ask = (signal?: AbortSignal) =>
    fetch(`${gateway.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: "hi" }] }),
      ...(signal && { signal }),
    });
  const before = await readBalance(key);
  expect((await ask()).status).toBe(200);
  const price = await vi.waitFor(
    async () => {
      const { used_balance: used } = await readBalance(key);
      expect(used).toBeGreaterThan(before.used_balance);
      return used;
    },
    { timeout: 1_000, interval: 20 },
  );
  const hangingUp = Array.from({ length: many }, async (_, at) => {
    const answer = await ask(AbortSignal.timeout(1 + (at % 20))).catch(() => undefined);
    return answer?.status;
  });
  const staying = Array.from({ length: many }, async () => {
    const answer = await ask();
    await answer.text();
    return answer.status;
  });
  expect(await Promise.all(staying)).toEqual(staying.map(() => 200));
  await Promise.all(hangingUp);
  const units = (amount: number) => Math.round(amount * 1e6);
  await vi.waitFor(
    async () => {
      const { remain_balance: remaining, used_balance: used } = await readBalance(key);
      expect(units(remaining) + units(used), "nothing is held").toBe(10e6);
    },
    { timeout: 60_000, interval: 250 },
  );
  const chats = units((await readBalance(key)).used_balance) / units(price);
  expect(chats).toBeGreaterThanOrEqual(1 + many);
  expect(chats).toBeLessThanOrEqual(1 + 2 * many);
  expect(Number.isInteger(chats)).toBe(true);
});
