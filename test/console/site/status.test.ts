/** `/status`: sums of the last hour over all accounts, and no data of a single account. */

import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { statusAnswer } from "../../../src/api/schema/ready.ts";
import { readOutcomes, toClass } from "../../../src/db/settled-sums.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { call, complete, finish, holdTime, newAccount, script, submit, unique, wakeWallet } from "../../support/gateway.ts";
import { Browser } from "../support.ts";

const later = (seconds: number) => vi.setSystemTime(Date.now() + 1000 * seconds);

beforeEach(async () => {
  holdTime();
  later(86_400); // removes the data of other tests, and this isolate's cache
  await env.DB.prepare("DELETE FROM settled_sum").run();
});

const image = (prompt = "a lighthouse") => ({ model: "imgA-4", prompt });
const ask = async (headers: Record<string, string> = {}) => new Browser().ask("/status", undefined, null, headers);
const read = async () => statusAnswer.parse(await (await ask()).json());

test("the outcomes of the last hour's tasks, by kind, for programs and for browsers", async () => {
  const account = await newAccount();
  // Tests that share the database may have completed tasks at any later time.
  await env.DB.exec("DELETE FROM settled_sum");
  expect(await read()).toEqual({
    object: "status",
    api: "operational",
    submissions: "operational",
    kinds: [],
    updated_at: Math.floor(Date.now() / 1000),
  });
  for (let count = 0; count < 3; count++) await complete(account, "/v1/images/generations", image());
  await complete(account, "/v1/videos/generations", { model: "vidA-2", prompt: "waves" });
  later(6);
  await wakeWallet(account);
  later(31);
  const { kinds } = await read();
  expect(kinds).toEqual([
    { kind: "image", completion_rate: 1, median_seconds: expect.any(Number) },
    { kind: "video", completion_rate: 1, median_seconds: expect.any(Number) },
  ]);
  const text = await (await ask({ accept: "text/html" })).text();
  expect(text).toContain("100\u00a0%");
  expect(text).toContain("Operational");
  expect(text).not.toContain(account.id);
  const korean = await (await ask({ accept: "text/html", "accept-language": "ko" })).text();
  expect(korean).toContain("서비스 상태");
  const chosen = await new Browser().ask("/status?language=ko", undefined, null, { accept: "text/html", "accept-language": "zh" });
  expect(await chosen.text()).toContain("서비스 상태");
  later(4_000); // an hour, and the five minutes in which sums are grouped
  expect((await read()).kinds).toEqual([]);
});

test("submissions are degraded while tasks fail; cancelled and refused ones do not count", async () => {
  const account = await newAccount();
  const word = unique();
  await complete(account, "/v1/images/generations", image());
  await script({ match: word, polls: [{ failed: "provider_error" }], starts: [500, 500, 500, 500, 500, 500, 500, 500] });
  await finish(account, await submit(account, "/v1/images/generations", image(word)), 30);
  const cancelled = await submit(account, "/v1/images/generations", image());
  await call(`/v1/tasks/${cancelled}/cancel`, { key: account.key, method: "POST" });
  later(6);
  await wakeWallet(account);
  later(31);
  expect(await read()).toMatchObject({ submissions: "degraded", kinds: [{ kind: "image", completion_rate: 0.5 }] });
  expect(await (await ask({ accept: "text/html" })).text()).toContain("Degraded");
});

test("one read of the database serves all visitors for thirty seconds, and without the database submissions are unavailable", async () => {
  failOnce(bindings.statement(), "run");
  expect(await read()).toMatchObject({ api: "operational", submissions: "unavailable", kinds: [] });
  expect(await read()).toMatchObject({ submissions: "unavailable" });
  later(31);
  expect(await read()).toMatchObject({ submissions: "operational" });
});

test("the median is within a tenth of the true one, from a minute's images to an hour's videos", async () => {
  const slot = Math.floor(Date.now() / 300_000) * 300_000;
  for (const seconds of [0, 0.4, 2, 7, 31, 90, 600, 3_000]) {
    await env.DB.prepare("DELETE FROM settled_sum").run();
    for (const [share, tasks] of [
      [0.5, 3],
      [1, 5],
      [4, 3],
    ] as const)
      await env.DB.prepare(
        "INSERT INTO settled_sum VALUES (?1, 'video', 'vidA-2', '', 'completed', ?2, ?3, 0, 0, 0) ON CONFLICT DO UPDATE SET tasks = tasks + ?3",
      )
        .bind(slot, toClass(1_000 * seconds * share), tasks)
        .run();
    const [row] = (await readOutcomes(env.DB, slot)).values();
    expect(Math.abs((row?.medianSeconds ?? -1) - seconds)).toBeLessThanOrEqual(0.1 + 0.1 * seconds);
  }
});
