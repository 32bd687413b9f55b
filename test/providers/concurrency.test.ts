/** Many slow images at once, with the deployed platform's limits on connections and consumers. */

import { afterEach, expect, test } from "vitest";
import { type Account, readBalance, call, holdTime, newAccount, unique } from "../support/gateway.ts";
import { Platform } from "../support/platform.ts";
import { announce, callsOfMakers } from "./support.ts";
import { base64 } from "../media/images.ts";

holdTime();
let platform: Platform | undefined;
afterEach(() => platform?.end());

const routes = {
  "imgB-4o-image": [{ provider: "openai", model: "gpt-image-2" }],
  "vidD-02": [{ provider: "minimax", model: "MiniMax-Hailuo-02" }],
};

async function submit(account: Account, path: string, body: object): Promise<string> {
  const { status, body: made } = await call(path, { key: account.key, body, vars: { ROUTES: routes } });
  expect(status).toBe(200);
  platform!.add(made.id as string);
  return made.id as string;
}

const readStatus = async (account: Account, id: string): Promise<string> =>
  (await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status as string;

test("forty images of a minute each all complete before their deadline, without delaying the storing of a video", async () => {
  let started = 0;
  platform = new Platform((url) =>
    url.endsWith("/images/generations")
      ? { ms: 60_000, answer: () => (started++, Response.json({ data: [{ b64_json: base64.png }], output_format: "png" })) }
      : undefined,
  );
  const account = await newAccount(1_000);
  const image = () => submit(account, "/v1/images/generations", { model: "imgB-4o-image", prompt: unique() });
  const images = [];
  for (let number = 0; number < 40; number++) images.push(await image());
  const prompt = unique();
  const video = await submit(account, "/v1/videos/generations", { model: "vidD-02", prompt, duration: 10 });
  const begun = Date.now();
  let videoMs: number | undefined;
  for (let seconds = 0; seconds < 110; seconds += 5) {
    await platform.step(5);
    if (seconds === 10) for (const one of await callsOfMakers(prompt)) await announce(one);
    if (videoMs === undefined && (await readStatus(account, video)) === "completed") videoMs = Date.now() - begun;
  }
  const statuses = await Promise.all(images.map((id) => readStatus(account, id)));
  expect(statuses).toEqual(images.map(() => "completed"));
  expect({ started, abandoned: platform.abandoned, maxAtOnce: platform.maxAtOnce }).toEqual({ started: 40, abandoned: 0, maxAtOnce: 1 });
  // The upstream calls back after fifteen seconds.
  expect(videoMs).toBeLessThanOrEqual(20_000);
  expect((await readBalance(account)).reserved).toBe(0);
});
