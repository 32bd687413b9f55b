/** Models with their own input at Replicate and at Cloudflare's models: the same body, sent as it is, and what comes back. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { base64 } from "../../media/images.ts";
import { crash, openStub } from "../../support/faults.ts";
import { call, deliver, finish, holdTime, newAccount, pass, settledBalance, submit, unique } from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { capture, countAll, sent } from "../support.ts";
import { put } from "./support.ts";

holdTime();
beforeEach(async () => {
  capture();
  await deleteModels();
});

const tasks = "/v1/tasks";
const images = "/v1/images/generations";
const object = (properties: object, required: string[] = ["prompt"]) => ({ type: "object", properties, required });
const entry = (kind: string, body: object, provider: string, model: string) => ({
  kind,
  body,
  price: { task: 0.2 },
  routes: [{ provider, model }],
});

const painter = object({
  prompt: { type: "string" },
  aspect_ratio: { type: "string", enum: ["1:1", "16:9"] },
  image_input: { type: "array", items: { type: "string", format: "uri" } },
});
const speaker = object({ text: { type: "string" }, voice_id: { type: "string" } }, ["text"]);

test("Replicate: images with inline and linked files", async () => {
  const account = await newAccount();
  await put("painter", entry("image", painter, "replicate", "bytedance/seedream-4.5"));
  const prompt = unique();
  const input = { aspect_ratio: "16:9", image_input: ["https://a.example/b.png", `data:image/png;base64,${base64.png}`] };
  const id = await submit(account, images, { model: "painter", prompt, input });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", cost: { charged: 0.2 }, result: { images: [{ credentials: "none" }] } });
  expect((await sent(prompt))[0]).toEqual({ model: "bytedance/seedream-4.5", input: { ...input, prompt } });
  expect((await env.ASSETS.list({ prefix: `inputs/${id}/` })).objects).toEqual([]);
});

test("Replicate: audio, named by nothing but its URL", async () => {
  const account = await newAccount();
  await put("speaker", entry("file", speaker, "replicate", "minimax/speech-02-hd"));
  const text = unique();
  const id = await submit(account, tasks, { model: "speaker", input: { text, voice_id: "Wise_Woman" } });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", result: { files: [{ type: "audio/mpeg", bytes: 410 }] } });
  expect(data.result.data).toBeUndefined();
});

test("Replicate: a lost answer is found again by the task's webhook, and the input is made once", async () => {
  const account = await newAccount();
  await put("painter", entry("image", painter, "replicate", "bytedance/seedream-4.5"));
  const prompt = `${unique()} [drop 1] [created ${new Date(Date.now()).toISOString()}]`;
  const id = await submit(account, images, { model: "painter", prompt, input: {} });
  const { data } = (await finish(account, id)).body;
  expect(data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0.2 });
});

test.each([
  ["moderated-later", "content_policy_violation"],
  ["fails", "provider_error"],
  ["emptied", "provider_error"],
])("Replicate: [%s] is %s and costs nothing", async (directive, code) => {
  const account = await newAccount();
  await put("painter", entry("image", painter, "replicate", "bytedance/seedream-4.5"));
  const id = await submit(account, images, { model: "painter", prompt: `${unique()} [${directive}]`, input: {} });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code }, cost: { charged: 0 } });
});

test("Replicate: a task is cancelled upstream", async () => {
  const account = await newAccount();
  await put("painter", entry("image", painter, "replicate", "bytedance/seedream-4.5"));
  const prompt = `${unique()} [queued]`;
  const id = await submit(account, images, { model: "painter", prompt, input: {} });
  await deliver(id);
  expect((await call(`${tasks}/${id}/cancel`, { key: account.key, body: {} })).body.data).toMatchObject({
    status: "failed",
    cost: { charged: 0 },
  });
  await pass(id, 1);
  expect(await countAll(prompt, "cancel")).toBe(1);
});

test("Cloudflare: an image of a third party's model, by its URL", async () => {
  const account = await newAccount();
  const body = object({
    prompt: { type: "string" },
    aspect_ratio: { type: "string" },
    size: { type: "string", enum: ["2K", "4K"], default: "2K" },
  });
  await put("painter", entry("image", body, "cloudflare", "bytedance/seedream-4.5"));
  const prompt = unique();
  const id = await submit(account, images, { model: "painter", prompt, input: { aspect_ratio: "1:1", size: "4K" } });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", result: { images: [{ credentials: "none" }] } });
  expect((await sent(prompt))[0]).toMatchObject({ model: "bytedance/seedream-4.5", input: { prompt, aspect_ratio: "1:1", size: "4K" } });
});

test("Cloudflare: audio as Base64 in the answer of a hosted model", async () => {
  const account = await newAccount();
  const body = object({ prompt: { type: "string" }, lang: { type: "string", default: "en" } });
  await put("speaker", entry("file", body, "cloudflare", "@cf/myshell-ai/melotts"));
  const prompt = unique();
  const id = await submit(account, tasks, { model: "speaker", prompt, input: { lang: "fr" } });
  const { data } = (await finish(account, id)).body;
  expect(data).toMatchObject({ status: "completed", result: { files: [{ type: "audio/mpeg", bytes: 410 }] } });
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toHaveLength(1);
});

test("Cloudflare: the storing fails after the answer: a URL is fetched again, and the model runs once", async () => {
  const account = await newAccount();
  const body = object({ prompt: { type: "string" }, size: { type: "string" } });
  await put("painter", entry("image", body, "cloudflare", "bytedance/seedream-4.5"));
  const prompt = `${unique()} [truncated 2]`;
  const id = await submit(account, images, { model: "painter", prompt, input: { size: "2K" } });
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test.each([
  ["moderated-later", "content_policy_violation"],
  ["fails", "provider_error"],
])("Cloudflare: [%s] is %s and costs nothing", async (directive, code) => {
  const account = await newAccount();
  await put(
    "painter",
    entry("image", object({ prompt: { type: "string" }, size: { type: "string" } }), "cloudflare", "bytedance/seedream-4.5"),
  );
  const id = await submit(account, images, { model: "painter", prompt: `${unique()} [${directive}]`, input: { size: "2K" } });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "failed", error: { code }, cost: { charged: 0 } });
});

test("the next route, at another maker with the same schema, takes over when the first is down", async () => {
  const account = await newAccount();
  await put("painter", {
    ...entry("image", object({ prompt: { type: "string" }, size: { type: "string" } }), "cloudflare", "bytedance/seedream-4.5"),
    routes: [
      { provider: "cloudflare", model: "bytedance/seedream-4.5" },
      { provider: "replicate", model: "bytedance/seedream-4.5" },
    ],
  });
  const prompt = `${unique()} [limit 3]`;
  const id = await submit(account, images, { model: "painter", prompt, input: { size: "2K" } });
  await deliver(id);
  await crash(openStub(id));
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", cost: { charged: 0.2 } });
});
