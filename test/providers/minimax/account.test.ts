/** The operator's account with MiniMax: a refused key, missing funds, and that the key appears nowhere. */

import { expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, passToPoll, unique } from "../../support/gateway.ts";
import { plain, v1, v2, videos } from "./support.ts";
import { capture, countAll, generate, submitTo } from "../support.ts";

holdTime();

/** After a minute every provider counts as healthy again. */
function forgive(): void {
  vi.setSystemTime(Date.now() + 61_000);
  expect(isUnhealthy({ provider: "minimax", model: "" })).toBe(false);
}

test.each([
  ["v1", v1],
  ["v2", v2],
])("%s: a wrong key marks the provider unhealthy and alerts the operator, without informing the caller", async (_, routes) => {
  forgive();
  const lines = capture();
  const { account, body } = await submitTo(routes, videos, plain(unique()));
  await deliver(body.id as string, undefined, { MINIMAX_API_KEY: "wrong-minimax-key" });
  const done = await finish(account, body.id as string);
  expect(done.body.data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(isUnhealthy({ provider: "minimax", model: "" })).toBe(true);
  expect(lines.filter((line) => line.includes(`"outcome":"account_fault"`))).toEqual([
    `{"unit":"provider","provider":"minimax","outcome":"account_fault"}`,
  ]);
  expect(lines.join("\n") + JSON.stringify(done.body)).not.toContain("wrong-minimax-key");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([
  ["v1", v1],
  ["v2", v2],
])("%s: without funds it is marked unhealthy", async (_, routes) => {
  forgive();
  const { data } = await generate(routes, videos, plain(`${unique()} [wallet]`));
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(isUnhealthy({ provider: "minimax", model: "" })).toBe(true);
});

test("accepted work is kept while the key is wrong", async () => {
  forgive();
  const prompt = unique();
  const { account, body } = await submitTo(v1, videos, plain(prompt));
  const id = body.id as string;
  await deliver(id);
  await passToPoll(id);
  await deliver(id, undefined, { MINIMAX_API_KEY: "wrong-minimax-key" });
  expect(isUnhealthy({ provider: "minimax", model: "" })).toBe(true);
  const { data } = (await finish(account, id, 40)).body;
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test("no log line and no answer contains the key, in any case", async () => {
  forgive();
  const lines = capture();
  const answers: string[] = [];
  for (const order of ["", "[limit 1]", "[drop]", "[moderated]", "[poll-unavailable 1]", "[wallet]"])
    for (const routes of [v1, v2]) {
      const { account, id, data } = await generate(routes, videos, plain(`${unique()} ${order}`));
      answers.push(JSON.stringify(data), JSON.stringify((await call(`/v1/videos/generations/${id}`, { key: account.key })).body));
    }
  expect(lines.length).toBeGreaterThan(50);
  expect([...lines, ...answers].filter((text) => text.includes("test-minimax-key"))).toEqual([]);
});
