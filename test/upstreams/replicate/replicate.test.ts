/** The emulated Replicate with its makers' own client (replicate 1.4.0). */

import Replicate, { validateWebhook } from "replicate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { providerKeys } from "../keys.ts";
import { listen } from "../listen.ts";

let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  server = await listen();
});
afterAll(() => server.close());

const client = (auth = providerKeys.REPLICATE_API_TOKEN) =>
  new Replicate({ auth, baseUrl: `${server.origin}/replicate/v1`, useFileOutput: false });
const wait = { mode: "poll", interval: 10 } as const;

test("its client runs a model and gets the URL of an image", async () => {
  const input = { prompt: "a kite [running 1]", aspect_ratio: "1:1", size: "2K" };
  const [url = "", ...more] = (await client().run("bytedance/seedream-4.5", { input, wait })) as string[];
  expect(more).toEqual([]);
  expect((await fetch(url)).headers.get("content-type")).toBe("image/png");
});

test("its client gets the reason why a prediction failed", async () => {
  const run = client().run("bytedance/seedream-4.5", { input: { prompt: "x [moderated-later]" }, wait });
  await expect(run).rejects.toThrow(/Prediction failed: .*flagged as sensitive.*E005/);
});

test("its client creates, lists and cancels predictions", async () => {
  const made = await client().predictions.create({ model: "google/veo-3.1", input: { prompt: "y [queued]", duration: 8 } });
  expect(made.status).toBe("starting");
  const { results } = await client().predictions.list();
  expect(results[0]).toMatchObject({ id: made.id, model: "google/veo-3.1", input: made.input });
  expect((await client().predictions.cancel(made.id)).status).toBe("canceled");
});

test.each([
  ["a wrong token", "wrong", {}, 401],
  ["a value that is not offered", undefined, { size: "1K" }, 422],
  ["a field that is not there", undefined, { n: 2 }, 422],
])("its client gets a refusal of %s", async (_, token, fields, status) => {
  const made = client(token).predictions.create({ model: "bytedance/seedream-4.5", input: { prompt: "z", ...fields } });
  await expect(made).rejects.toThrow(`failed with status ${status}`);
});

test("its client verifies the requested webhook of a prediction, with the secret that it fetches", async () => {
  const webhook = "https://gateway.example/callbacks/replicate/task/signature";
  const input = { prompt: "z with a webhook", duration: 8 };
  await client().predictions.create({ model: "google/veo-3.1", input, webhook, webhook_events_filter: ["completed"] });
  const calls = await (await fetch(`${server.origin}/__callbacks?match=${input.prompt}&at=${Date.now()}`)).json();
  const [{ url, headers, body }] = calls as [{ url: string; headers: Record<string, string>; body: string }];
  expect(calls).toHaveLength(1);
  expect(url).toBe(webhook);
  const secret = (await client().webhooks.default.secret.get()).key;
  const header = (name: string) => headers[`webhook-${name}`] ?? "";
  const message = { id: header("id"), timestamp: header("timestamp"), signature: header("signature") };
  expect(await validateWebhook({ ...message, body, secret })).toBe(true);
  expect(await validateWebhook({ ...message, body: `${body} `, secret })).toBe(false);
});
