/** Tasks that end without a result are free: their records keep no long texts and no inputs, because anybody may make and cancel hundreds a minute. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { openStub } from "../support/faults.ts";
import { call, deliver, finish, holdTime, newAccount, script, submit, unique, cancel } from "../support/gateway.ts";
import { base64 } from "../media/images.ts";

holdTime();

const videos = "/v1/videos/generations";
const record = (id: string) => runInDurableObject(openStub(id), (_, ctx) => JSON.stringify(ctx.storage.kv.get("task")));
const inputs = async (id: string) => (await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects.length;

/** A prompt of 4,000 characters, which are two code units each. */
const longPrompt = () => {
  const word = unique();
  return word + "𝄞".repeat(4_000 - word.length);
};
const cut = (text: string, length: number) => `${Array.from(text).slice(0, length).join("")}…`;
const url = () => `https://pictures.example/${"a".repeat(1_900)}.png`;

test("a cancelled task keeps 200 characters of its texts and no inputs; its answers and its receipt remain", async () => {
  const account = await newAccount();
  const prompt = longPrompt();
  const headers = { "idempotency-key": unique() };
  const body = { model: "vidC-1-0-pro-fast", prompt, images: [url(), url(), url()], reference: "order-1" };
  const id = await submit(account, videos, body, headers);
  expect((await record(id)).length).toBeGreaterThan(14_000);
  const { data } = (await cancel(account, id)).body;
  expect(data.metadata).toMatchObject({ kind: "video", prompt: cut(prompt, 200), duration: 5, resolution: "720p", reference: "order-1" });
  expect(data.metadata.images).toEqual(Array.from({ length: 3 }, () => `${url().slice(0, 200)}…`));
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.metadata).toEqual(data.metadata);
  expect((await record(id)).length).toBeLessThan(3_500);
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(receipt).toMatchObject({ request_sha256: expect.stringMatching(/^[0-9a-f]{64}$/), charged: 0, reference: "order-1" });
  const again = await call(videos, { key: account.key, body, headers });
  expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([id, "true"]);
});

test("inline images of a cancelled task are deleted before the answer", async () => {
  const account = await newAccount();
  const body = { model: "imgA-4", prompt: unique(), images: [`data:image/png;base64,${base64.png}`] };
  const id = await submit(account, "/v1/images/generations", body);
  expect(await inputs(id)).toBe(1);
  expect((await cancel(account, id)).body.data.metadata.images).toEqual(["inline"]);
  expect(await inputs(id)).toBe(0);
});

test("a failed task keeps 1,000 characters of its texts; short ones, and those of a completed task, stay whole", async () => {
  const account = await newAccount();
  const prompt = longPrompt();
  await script({ match: prompt.slice(0, 13), starts: [422] });
  const failed = await submit(account, videos, { model: "vidA-2", prompt });
  await deliver(failed);
  expect((await finish(account, failed)).body.data).toMatchObject({
    status: "failed",
    metadata: { prompt: cut(prompt, 1_000) },
  });
  const short = unique();
  const cancelled = await submit(account, videos, { model: "vidA-2", prompt: short });
  expect((await cancel(account, cancelled)).body.data.metadata.prompt).toBe(short);
  const whole = longPrompt();
  const completed = await submit(account, videos, { model: "vidA-2", prompt: whole });
  expect((await finish(account, completed)).body.data).toMatchObject({ status: "completed", metadata: { prompt: whole } });
});
