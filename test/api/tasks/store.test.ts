/** `store: false` on a submission: once the task has ended, the content of its request is not stored any more. */

import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { openStub } from "../../support/faults.ts";
import { call, complete, finish, holdTime, newAccount, script, submit, unique } from "../../support/gateway.ts";
import { expectNoTrace, expectRefusedFor } from "../../support/refusal.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const readRecord = (id: string) => runInDurableObject(openStub(id), (_, ctx) => JSON.stringify(ctx.storage.kv.get("task")));
const readAnswer = async (key: string, id: string) => (await call(`/v1/tasks/${id}`, { key })).body.data;

test("the prompt is stored while the task runs, because it may have to be sent again, and not after its end", async () => {
  const account = await newAccount();
  const word = unique();
  const body = { model: "imgA-4", prompt: word, store: false, size: "16:9" };
  const id = await submit(account, images, body);
  expect(await readRecord(id)).toContain(word);
  expect((await readAnswer(account.key, id)).metadata.prompt).toBe(word);
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(await readRecord(id)).not.toContain(word);
  const { metadata, result } = await readAnswer(account.key, id);
  expect(metadata).toMatchObject({ kind: "image", size: "16:9", n: 1, reserved: expect.any(Number) });
  expect(metadata).not.toHaveProperty("prompt");
  expect((await call(result.images[0].url[0])).status).toBe(200);
  // The receipt has the body's digest, as always.
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(JSON.stringify(receipt)).not.toContain(word);
  expect(JSON.stringify(receipt)).toMatch(/[0-9a-f]{64}/);
});

test.each(["failed", "cancelled"])("the prompt is not stored after a task has %s", async (end) => {
  const account = await newAccount();
  const word = unique();
  if (end === "failed") await script({ match: word, starts: [422] });
  // The record of a cancelled task had the URL of an input as well.
  const inputs = end === "failed" ? {} : { images: [`https://pictures.example/${word}.png`] };
  const id = await submit(account, images, { model: "imgA-4", prompt: word, ...inputs, store: false });
  if (end === "failed") await finish(account, id);
  else await call(`/v1/tasks/${id}/cancel`, { key: account.key, method: "POST" });
  expect((await readAnswer(account.key, id)).status).toBe("failed");
  expect(await readRecord(id)).not.toContain(word);
});

test("a video without a stored prompt is a source for a remix and a character, and a repeat of its submission finds it", async () => {
  const account = await newAccount();
  const body = { model: "vidA-2", prompt: unique(), store: false };
  const headers = { "idempotency-key": unique() };
  const id = await submit(account, videos, body, headers);
  await finish(account, id);
  const again = await call(videos, { key: account.key, body, headers });
  expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([id, "true"]);
  await complete(account, `${videos.replace("/generations", "")}/${id}/remix`, { model: "vidA-2", prompt: unique() });
  await complete(account, videos, { model: "vidA-2", from_task: id, timestamps: "0,1", store: false });
});

test("with store: true or without it the prompt stays stored, and other values are refused", async () => {
  const account = await newAccount();
  for (const store of [true, null, undefined]) {
    const word = unique();
    const id = await complete(account, images, { model: "imgA-4", prompt: word, store });
    expect((await readAnswer(account.key, id)).metadata.prompt).toBe(word);
  }
  const other = await newAccount();
  for (const store of ["false", 0, {}])
    expectRefusedFor("store", await call(images, { key: other.key, body: { model: "imgA-4", prompt: "x", store } }), { store });
  await expectNoTrace(other);
});
