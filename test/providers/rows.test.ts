/** The writes and calls of tasks whose providers answer at once, or call back. */

import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { addDurations } from "../../src/db/typical-times.ts";
import { operations, rows, together } from "../../scripts/support/operations.ts";
import { call, complete, holdTime, newAccount, unique } from "../support/gateway.ts";
import { expectAgrees, measureTasks, submitting } from "../support/meter.ts";
import { announce, callsOfMakers, generate, routesTo } from "./support.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

test("an image that is answered at once", async () => {
  const path = "/v1/images/generations";
  const image = () => ({ model: "imgA-4", prompt: unique() });
  await complete(await newAccount(), path, image());
  const each = await measureTasks(together, { begin: submitting(path, image), isBusy: true });
  expectAgrees(each, operations.image);
  expect(rows(each)).toBeLessThanOrEqual(13);
});

test("a video of 60 seconds whose provider calls back, with that typical duration", async () => {
  const path = "/v1/videos/generations";
  const routes = routesTo("fal", "vidD-02", "fal-ai/minimax/hailuo-02");
  const word = unique();
  const video = () => ({ model: "vidD-02", prompt: `${word} ${unique()}`, duration: 10 });
  await addDurations(env.DB, "video vidD-02 fal fal-ai/minimax/hailuo-02", Array<number>(100).fill(60));
  await generate(routes, path, { ...video(), prompt: "the first" });
  const each = await measureTasks(together, {
    begin: async ({ key }) => {
      const answer = await call(path, { key, body: video(), vars: { ROUTES: routes } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.id as string;
    },
    after: {
      seconds: 60,
      happens: async () => {
        for (const one of await callsOfMakers(word)) expect((await announce(one)).status).toBe(200);
      },
    },
  });
  expectAgrees(each, operations["video, called back"]);
  expect(rows(each)).toBeLessThanOrEqual(15.5);
});
