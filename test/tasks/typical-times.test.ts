/** Estimates from the durations of recent tasks. Contract 2. */

import "../support/alone.ts";
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { addDurations, readDurations } from "../../src/db/typical-times.ts";
import { newTask } from "../../src/tasks/transitions/task.ts";
import { learnDurations, learnedLately, median, noteDuration } from "../../src/tasks/typical-times.ts";
import { bindings, spyOn } from "../support/faults.ts";
import { call, complete, holdTime, newAccount, pass, submit, unique } from "../support/gateway.ts";

holdTime();

const route = { provider: "sandbox", model: "imgA-4" };
const minute = () => vi.setSystemTime(Date.now() + 61_000);

test("the median of an even number of values is between the two middle ones", () => {
  expect([median([3]), median([9, 1, 5]), median([4, 1, 10, 2])]).toEqual([3, 5, 3]);
});

test("the last hundred durations of each group are kept, newest first", async () => {
  const sort = unique();
  expect(await addDurations(env.DB, sort, [3, 2, 1])).toEqual([3, 2, 1]);
  expect(await addDurations(env.DB, sort, [5, 4])).toEqual([5, 4, 3, 2, 1]);
  const many = Array.from({ length: 98 }, () => 7);
  expect(await addDurations(env.DB, sort, many)).toEqual([...many, 5, 4]);
  await addDurations(env.DB, unique(), [9]);
  expect((await readDurations(env.DB)).get(sort)).toHaveLength(100);
});

test("nine tasks give no estimate, the tenth does; another isolate reads it within a minute", async () => {
  const work = { kind: "image", model: unique(), route, parameters: {} } as const;
  const sort = `image ${work.model} sandbox imgA-4`;
  const ask = async () => {
    minute();
    const ctx = createExecutionContext();
    learnedLately(env.DB, ctx, work);
    await waitOnExecutionContext(ctx);
    return learnedLately(env.DB, ctx, work)?.typicalSeconds;
  };
  await addDurations(
    env.DB,
    sort,
    Array.from({ length: 9 }, () => 40),
  );
  expect(await ask()).toBeUndefined();
  await addDurations(env.DB, sort, [44.4]);
  expect(await ask()).toBe(40);
  await addDurations(
    env.DB,
    sort,
    Array.from({ length: 60 }, () => 12.4),
  );
  expect(await ask()).toBe(12);
});

test("all but two of a hundred are between the first and the last usual run", () => {
  const seconds = [1, 2, ...Array.from({ length: 97 }, (_, at) => 60 + at / 10), 500];
  expect(learnDurations(seconds)).toEqual({ typicalSeconds: 65, runSeconds: { first: 60, mean: expect.closeTo(67.886), last: 69.6 } });
  expect(learnDurations(seconds.slice(0, 9))).toBeUndefined();
});

test("runs that the first poll found are looked for earlier the next time", () => {
  const { runSeconds } = learnDurations(Array<number>(100).fill(60))!;
  expect(runSeconds).toEqual({ first: 0.93 * 60, mean: 60, last: 60 });
});

test("polled work is recorded from its start to the poll that found its end, by its length and resolution", async () => {
  const model = unique();
  const end = async (parameters: object) => {
    const submission = { kind: "video", model, routes: [route], parameters } as unknown as Parameters<typeof newTask>[1];
    await noteDuration(env.DB, { submission, createdAt: 0, askedAt: 3_000, readyAt: 47_000, finalAt: 50_000 });
  };
  await end({});
  await end({ duration: 8 });
  await end({ duration: 8, resolution: "1080p" });
  const known = await readDurations(env.DB);
  const sorts = ["", " 8s", " 8s 1080p"].map((rest) => `video ${model} sandbox imgA-4${rest}`);
  expect(sorts.map((sort) => known.get(sort))).toEqual([[44], [44], [44]]);
});

test("an isolate writes one row for many tasks, and a database that does not answer changes nothing", async () => {
  const submission = { kind: "image", model: unique(), routes: [route], parameters: {} } as unknown as Parameters<typeof newTask>[1];
  const statements = spyOn(bindings.database(), "prepare");
  const writes = () => statements.mock.calls.filter(([sql]) => String(sql).includes("typical_time")).length;
  const end = async (seconds: number) => {
    const now = Date.now();
    await noteDuration(env.DB, { submission, createdAt: now, finalAt: now + 1000 * seconds });
  };
  for (let count = 0; count < 26; count++) await end(count);
  expect(writes()).toBe(2);
  expect((await readDurations(env.DB)).get(`image ${submission.model} sandbox imgA-4`)).toEqual(
    Array.from({ length: 26 }, (_, at) => 25 - at),
  );
  statements.mockImplementation(() => {
    throw new Error("scripted fault");
  });
  for (let count = 0; count < 25; count++) await end(1);
});

test("the estimate of a submission is that of similar tasks, and does not fall while the task is queued", async () => {
  const account = await newAccount();
  const image = () => ({ model: "imgB-4o-image", prompt: unique() });
  const estimate = async () => (await call("/v1/images/generations?dry_run=true", { key: account.key, body: image() })).body.estimated_time;
  expect(await estimate()).toBe(2); // the sandbox's own
  await complete(account, "/v1/images/generations", image());
  const { results } = await env.DB.prepare("SELECT sort, seconds FROM typical_time WHERE sort LIKE '% imgB-4o-image %'").run<{
    sort: string;
    seconds: string;
  }>();
  expect(results).toHaveLength(1);
  const [took] = JSON.parse(results[0]!.seconds) as [number];
  expect(took).toBeGreaterThan(0);
  await addDurations(
    env.DB,
    results[0]!.sort,
    Array.from({ length: 20 }, () => 30),
  );
  minute();
  await estimate();
  await vi.waitFor(async () => expect(await estimate()).toBe(30));
  const id = await submit(account, "/v1/images/generations", image());
  const left = async () => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.estimated_time;
  expect(await left()).toBe(30);
  await pass(id, 10);
  expect(await left()).toBe(30);
});
