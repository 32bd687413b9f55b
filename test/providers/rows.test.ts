/** The writes and calls of tasks whose providers answer at once, or call back. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { addDurations } from "../../src/db/typical-times.ts";
import { call, holdTime, unique } from "../support/gateway.ts";
import { expectCounts, together } from "../support/counts.ts";
import { keepRequestLog, measureTasks, submitting } from "../support/meter.ts";
import type { Operations } from "../../scripts/support/operations.ts";
import type { Call as MakersCall } from "../upstreams/emulator.ts";
import { announce, callsOfMakers, generate, routesTo } from "./support.ts";

holdTime();

const images = "/v1/images/generations";
const image = () => ({ model: "imgA-4", prompt: `${unique()} [own bytes]` });

test("an image that is answered at once", async (context) => {
  expectCounts(context, "image", await measureTasks(together, { ...submitting(images, image), isBusy: true }));
});

test("images whose ends the wallet writes in three flushes", async (context) => {
  const each = await measureTasks(together, { ...submitting(images, image), isBusy: true, waves: 3 });
  expectCounts(context, "image, three flushes", each);
});

test("images with the console's log of requests", async (context) => {
  const log = keepRequestLog();
  const begin = async ({ key }: { key: string }, isCounted: boolean) => {
    const answer = await call(images, { key, body: image(), ...(isCounted && { vars: log.vars }) });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body.id as string;
  };
  const each = await measureTasks(together, {
    ...submitting(images, image),
    begin,
    isBusy: true,
    events: [{ seconds: 10, happens: log.write }],
  });
  expectCounts(context, "image, request log", each);
});

test("a lone account's image", async (context) => {
  expectCounts(context, "image, lone account", await measureTasks(1, { ...submitting(images, image), isKnown: true }));
});

/** Videos whose provider calls back after 60 seconds, which is their typical duration; `announceAll` delivers the calls. */
async function measureCalledBack(announceAll: (calls: MakersCall[]) => Promise<void>): Promise<Operations> {
  const path = "/v1/videos/generations";
  const routes = routesTo("fal", "vidD-02", "fal-ai/minimax/hailuo-02");
  const word = unique();
  const video = () => ({ model: "vidD-02", prompt: `${word} ${unique()} [own bytes]`, duration: 10 });
  await addDurations(env.DB, "video vidD-02 fal fal-ai/minimax/hailuo-02 10s 768p", Array<number>(100).fill(60));
  return measureTasks(together, {
    begin: async ({ key }) => {
      const answer = await call(path, { key, body: video(), vars: { ROUTES: routes } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.id as string;
    },
    warmUp: () => generate(routes, path, { ...video(), prompt: "the first" }),
    events: [{ seconds: 60, happens: async () => announceAll(await callsOfMakers(word)) }],
  });
}

const announceOne = async (one: MakersCall) => expect((await announce(one)).status).toBe(200);

test("a video of 60 seconds whose provider calls back, with that typical duration", async (context) => {
  const each = await measureCalledBack(async (calls) => {
    for (const one of calls) await announceOne(one);
  });
  expectCounts(context, "video, called back", each);
});

test("sixteen such videos whose provider calls back in one instant", async (context) => {
  const each = await measureCalledBack(async (calls) => {
    expect(calls).toHaveLength(together);
    await Promise.all(calls.map(announceOne));
  });
  expectCounts(context, "video, called back, 16 in one instant", each);
});
