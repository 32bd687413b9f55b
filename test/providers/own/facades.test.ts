/** Models with their own input for agents and on OpenAI's paths. */

import "../../support/alone.ts";
import { beforeEach, expect, test } from "vitest";
import { call, finish, holdTime, newAccount, readBalance, unique } from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { callTool, connect } from "../../mcp/client.ts";
import { sent } from "../support.ts";
import { kling, put, seedream, speech } from "./support.ts";

holdTime();
beforeEach(deleteModels);

test("/mcp: the tool generate names these models, estimates, submits once, and links to the files", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const client = await connect(account.key, "modern");
  const { tools } = await client.listTools();
  const tool = (named: string) => tools.find(({ name }) => name === named)!;
  expect(tool("generate").inputSchema).toMatchObject({
    required: ["model"],
    properties: { model: { enum: ["narrator"] }, input: { type: "object" } },
  });
  expect(JSON.stringify(tool("generate_image").inputSchema)).not.toContain("narrator");
  const text = unique();
  const args = { model: "narrator", input: { text } };
  expect((await callTool(client, "generate", { ...args, dry_run: true })).record).toMatchObject({ kind: "file", price: 0.05 });
  for (const kind of ["file", "image"])
    expect((await callTool(client, "estimate", { kind, ...args })).record).toMatchObject({ price: 0.05 });
  const wrong = await callTool(client, "estimate", { kind: "file", model: "narrator", input: { text, pitch: 2 } });
  expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining("input.pitch") });
  const submitted = await callTool(client, "generate", { ...args, wait: 0 });
  expect((await callTool(client, "generate", { ...args, wait: 0 })).record.task_id).toBe(submitted.record.task_id);
  await finish(account, submitted.record.task_id as string);
  const done = await callTool(client, "get_task", { task_id: submitted.record.task_id });
  expect(done.record).toMatchObject({ status: "completed", result: { files: [{ type: "audio/mpeg" }] } });
  expect(done.content).toContainEqual(expect.objectContaining({ type: "resource_link", mimeType: "audio/mpeg" }));
  expect(await sent(text)).toHaveLength(1);
});

test("/mcp: another model, and a wrong input, are refused and cost nothing", async () => {
  const account = await newAccount();
  await put("narrator", speech);
  const client = await connect(account.key, "modern");
  expect((await callTool(client, "generate", { model: "imgA-4", input: {} })).text).toContain("must be one of narrator");
  expect((await callTool(client, "generate", { model: "narrator", input: { text: "x", pitch: 2 } })).text).toContain("input.pitch");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("OpenAI's videos: prompt and input of such a model", async () => {
  const account = await newAccount();
  await put("kling-3", kling);
  const prompt = unique();
  const body = { model: "kling-3", prompt, input: { duration: "3" } };
  const video = await call("/openai/v1/videos", { key: account.key, body });
  expect(video, JSON.stringify(video.body)).toMatchObject({ status: 200, body: { object: "video", model: "kling-3", prompt } });
  await finish(account, video.body.id as string);
  expect((await call(`/openai/v1/videos/${video.body.id}`, { key: account.key })).body).toMatchObject({ status: "completed" });
  expect((await sent(prompt))[0].input).toMatchObject({ prompt, duration: "3" });
  // Such a model has only the fields of its own input.
  const wrong = await call("/openai/v1/videos", { key: account.key, body: { ...body, seconds: "8" } });
  expect([wrong.status, wrong.body.error.param]).toEqual([400, "seconds"]);
});

test("OpenAI's images: prompt and input of such a model", async () => {
  const account = await newAccount();
  await put("seedream-own", seedream);
  const body = { model: "seedream-own", prompt: unique(), input: { num_images: 2, image_urls: ["https://images.example/a.png"] } };
  const ask = (more: object) => call("/openai/v1/images/generations?dry_run=true", { key: account.key, body: { ...body, ...more } });
  expect(await ask({})).toMatchObject({ status: 200, body: { price: 0.06 } });
  const wrong = await ask({ n: 2 });
  expect([wrong.status, wrong.body.error.param]).toEqual([400, "n"]);
});
