/** The writes and calls of a task or chat, counted over its whole life: from its submission to the end of its record. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { operations, rows, together } from "../../scripts/support/operations.ts";
import { call, complete, holdTime, newAccount, unique } from "../support/gateway.ts";
import { addDurations } from "../../src/db/typical-times.ts";
import { expectAgrees, live, measureTasks, share, startMeter, submitting } from "../support/meter.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

/** The sandbox works on each task for this many simulated seconds, and suggests no poll interval. */
function workFor(seconds: number): void {
  const prototype = Object.getPrototypeOf(env.SANDBOX) as { fetch: (input: string, init?: RequestInit) => Promise<Response> };
  const original = prototype.fetch;
  const started = new Map<string, number>();
  vi.spyOn(prototype, "fetch").mockImplementation(async function (this: unknown, input, init) {
    const [, id] = /^http:\/\/sandbox\/v1\/operations(?:\/([^/]+))?$/.exec(input) ?? [];
    const ms = Date.now() - (started.get(id ?? "") ?? -Infinity);
    if (id !== undefined && init?.method !== "DELETE" && ms < seconds * 1000)
      return Response.json({ id, status: "running", progress: Math.floor(ms / seconds / 10) });
    const response = await original.call(this, input, init);
    if (input !== "http://sandbox/v1/operations") return response;
    const operation = await response.json<{ id: string; poll_after_ms?: number }>();
    delete operation.poll_after_ms;
    started.set(operation.id, Date.now());
    return Response.json(operation, { status: response.status });
  });
}

const video = () => ({ model: "vidB-3.1-fast", prompt: unique() });
const image = () => ({ model: "imgA-4", prompt: unique() });

test("a video of 60 seconds that is polled, with that typical duration", async () => {
  const path = "/v1/videos/generations";
  await addDurations(env.DB, "video vidB-3.1-fast sandbox vidB-3.1-fast", Array<number>(100).fill(60));
  // Reading and writing typical durations happens once for many tasks, so it is not part of the cost of one.
  await complete(await newAccount(), path, video());
  workFor(60);
  const each = await measureTasks(together, { begin: submitting(path, video) });
  expectAgrees(each, operations.video);
  expect(rows(each)).toBeLessThanOrEqual(22.5);
});

test("an image of 4 seconds that is polled, with that typical duration", async () => {
  const path = "/v1/images/generations";
  await addDurations(env.DB, "image imgA-4 sandbox imgA-4", Array<number>(100).fill(4));
  await complete(await newAccount(), path, image());
  workFor(3.9);
  expectAgrees(await measureTasks(together, { begin: submitting(path, image) }), operations["image, polled"]);
});

test("a chat", async () => {
  const account = await newAccount(10_000);
  const chats = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const body = { model: "textA-1", messages: [{ role: "user", content: unique() }] };
        expect((await call("/v1/chat/completions", { key: account.key, body })).status).toBe(200);
      }),
    );
  // The account has a grant of the amount that it spent in the last minute.
  await chats(together);
  await live(account, [], Date.now() + 30_000);
  const finish = await startMeter();
  await chats(together);
  await live(account, [], Date.now() + 8 * 86_400_000);
  const each = share(await finish(), together);
  expectAgrees(each, operations.chat);
  expect(rows(each)).toBeLessThanOrEqual(5);
});
