/** The writes and calls of a task or chat, counted over its whole life: from its submission to the end of its record. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test, vi } from "vitest";
import { type Account, call, holdTime, unique, image } from "../support/gateway.ts";
import type { Operations } from "../../scripts/support/operations.ts";
import { addDurations } from "../../src/db/typical-times.ts";
import { expectCounts, together } from "../support/counts.ts";
import { keepRequestLog, measureChats, measureTasks, submitting } from "../support/meter.ts";

holdTime();

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

const videos = "/v1/videos/generations";
const images = "/v1/images/generations";
const video = () => ({ model: "vidB-3.1-fast", prompt: unique() });

beforeEach(async () => {
  const about60 = Array.from({ length: 100 }, (_, at) => 57 + 0.06 * at);
  await addDurations(env.DB, "video vidB-3.1-fast sandbox vidB-3.1-fast 8s", about60);
  await addDurations(env.DB, "image imgA-4 sandbox imgA-4", Array<number>(100).fill(4));
});

test("a video of 60 seconds that is polled, with that typical duration", async (context) => {
  workFor(60);
  expectCounts(context, "video", await measureTasks(together, { ...submitting(videos, video) }));
});

/** Videos, each of which its caller asks for every 10 seconds until it is completed: the queries of a usual client. */
async function measureAsked(count: number, logsRequests: boolean): Promise<Operations> {
  workFor(60);
  const log = logsRequests ? keepRequestLog() : undefined;
  const vars = log?.vars ?? {};
  const isLone = count === 1;
  const seen: string[][] = [];
  const happens = async ({ key }: Account, ids: string[]) => {
    await log?.write();
    const answers = await Promise.all(ids.map((id) => call(`/v1/tasks/${id}`, { key, vars })));
    seen.push(answers.map(({ body }) => body.data.status as string));
  };
  const each = await measureTasks(count, {
    ...submitting(videos, video),
    begin: async (account, isCounted) => {
      const { status, body } = await call(videos, { key: account.key, body: video(), vars: isCounted ? vars : {} });
      expect(status).toBe(200);
      return body.id as string;
    },
    events: [...[10, 20, 30, 40, 50, 60, 70].map((seconds) => ({ seconds, happens })), { seconds: 80, happens: async () => log?.write() }],
    isKnown: isLone,
  });
  const inProgress = Array.from({ length: 6 }, () => ["in_progress"]);
  expect(seen.map((statuses) => [...new Set(statuses)])).toEqual([...inProgress, ["completed"]]);
  return each;
}

test("a video whose caller asks for its status every 10 seconds", async (context) => {
  expectCounts(context, "video, status every 10 s", await measureAsked(together, false));
});

test("the same with the console's log of requests", async (context) => {
  expectCounts(context, "video, status every 10 s, request log", await measureAsked(together, true));
});

test("a lone account's video whose caller asks for its status every 10 seconds, with the log of requests", async (context) => {
  expectCounts(context, "video, lone account, status every 10 s, request log", await measureAsked(1, true));
});

test("a lone account's video", async (context) => {
  workFor(60);
  expectCounts(context, "video, lone account", await measureTasks(1, { ...submitting(videos, video), isKnown: true }));
});

test("an image of 4 seconds that is polled, with that typical duration", async (context) => {
  workFor(3.9);
  expectCounts(context, "image, polled", await measureTasks(together, { ...submitting(images, image) }));
});

test("what a chat writes and calls", async (context) => {
  expectCounts(context, "chat", await measureChats(together, { isBusy: true }));
});

test("what chats write and call with the console's log of requests", async (context) => {
  expectCounts(context, "chat, request log", await measureChats(together, { isBusy: true, logsRequests: true }));
});

test("what a lone account's chat writes and calls", async (context) => {
  expectCounts(context, "chat, lone account", await measureChats(1));
});

test("what a lone account's chat writes and calls with the console's log of requests", async (context) => {
  expectCounts(context, "chat, lone account, request log", await measureChats(1, { logsRequests: true }));
});
