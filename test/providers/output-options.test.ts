/** `output_format` and `background` of OpenAI's paths: which routes honour them, what they send, and that the others are passed over. */

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { markOpenAi } from "../../src/api/request/origin.ts";
import { toObjectId } from "../../src/base/ids.ts";
import type { Task } from "../../src/tasks/record.ts";
import worker from "../../src/worker.ts";
import { base64 } from "../media/images.ts";
import { type Account, call, finish, holdTime, newAccount, readBalance, unique } from "../support/gateway.ts";
import { asked, sent } from "./support.ts";
import { toEnv } from "../support/models.ts";

holdTime();

const path = "/v1/images/generations";
const model = "imgB-4o-image";
type Route = [provider: string, model: string];

/** Submits as the OpenAI Worker does, which alone may send these fields. */
async function submit(account: Account, fields: object, ...to: Route[]) {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const body = JSON.stringify({ model, prompt: unique(), ...fields });
  const request = new Request(`https://gateway.example${path}`, { method: "POST", headers, body });
  const ROUTES = { [model]: to.map(([provider, id]) => ({ provider, model: id })) };
  const response = await worker.fetch(markOpenAi(request), toEnv({ ROUTES }), createExecutionContext());
  return { status: response.status, body: await response.json<{ id: string; error?: { code: string; param: string } }>() };
}

const openai: Route = ["openai", "gpt-image-2.6-sunburst"];

test.each(["jpeg", "webp", "png"])("OpenAI's route makes %s, which is stored as what it is", async (format) => {
  const account = await newAccount();
  const prompt = unique();
  const { body } = await submit(account, { prompt, output_format: format }, openai);
  const { data } = (await finish(account, body.id)).body;
  expect(data.metadata).toMatchObject({ output_format: format });
  const file = await call(data.result.images[0].url[0]);
  expect([file.status, file.headers.get("content-type")]).toEqual([200, `image/${format}`]);
  const [request] = await sent(prompt);
  expect([request.output_format, request.background]).toEqual([format, undefined]);
});

test("a transparent background reaches OpenAI in generations and in the form of an edit; without the options nothing is sent", async () => {
  const account = await newAccount();
  const make = async (fields: object) => {
    const prompt = unique();
    const { body } = await submit(account, { prompt, ...fields }, openai);
    expect((await finish(account, body.id)).body.data.status).toBe("completed");
    return asked(prompt);
  };
  const options = { output_format: "webp", background: "transparent" };
  expect((await make(options)).find((entry) => entry.call === "start")?.body).toMatchObject(options);
  const images = [`data:image/png;base64,${base64.png}`];
  expect((await make({ ...options, images })).find((entry) => entry.call === "form")?.body).toMatchObject(options);
  const [plain] = await make({});
  expect(plain?.body).not.toHaveProperty("output_format");
  expect(plain?.body).not.toHaveProperty("background");
});

test.each<[...Route, string, string]>([
  ["replicate", "openai/gpt-image-2", "webp", "webp"],
  ["replicate", "google/nano-banana-pro", "jpeg", "jpg"],
  ["fal", "openai/gpt-image-2", "jpeg", "jpeg"],
  ["fal", "fal-ai/nano-banana-pro", "webp", "webp"],
  ["cloudflare", "openai/gpt-image-2", "webp", "webp"],
  ["cloudflare", "google/nano-banana-pro", "jpeg", "jpg"],
])("%s %s is asked for %s", async (provider, id, format, word) => {
  const account = await newAccount();
  const prompt = unique();
  const { status, body } = await submit(account, { prompt, output_format: format }, [provider, id]);
  expect([status, body.error]).toEqual([200, undefined]);
  expect((await finish(account, body.id)).body.data.status).toBe("completed");
  expect(JSON.stringify(await asked(prompt))).toContain(`"output_format":"${word}"`);
});

test.each<[...Route, object, string]>([
  ["modelark", "seedream-4-5-251128", { output_format: "webp" }, "output_format"],
  ["google", "gemini-3-pro-image", { background: "transparent" }, "background"],
  ["replicate", "google/nano-banana-pro", { output_format: "webp" }, "output_format"],
  ["replicate", "openai/gpt-image-2", { background: "opaque" }, "background"],
  ["fal", "openai/gpt-image-2", { background: "transparent" }, "background"],
  ["openai", "another-image-model", { output_format: "png" }, "output_format"],
  ["sandbox", model, { output_format: "jpeg" }, "output_format"],
  ["sandbox", model, { background: "transparent" }, "background"],
  ["openai", "gpt-image-2", { background: "transparent", output_format: "jpeg" }, "background"],
])("%s %s has no %o: refused at %s if no other route has it, else passed over", async (provider, id, fields, param) => {
  const account = await newAccount();
  const refused = await submit(account, fields, [provider, id]);
  expect([refused.status, refused.body.error?.code, refused.body.error?.param]).toEqual([400, "unsupported_parameter", param]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  if (provider === "openai" && id === "gpt-image-2") return;
  const { body } = await submit(account, fields, [provider, id], openai);
  const task = env.TASKS.get(toObjectId(env.TASKS, body.id)!);
  const routes = await runInDurableObject(task, (_, ctx) => ctx.storage.kv.get<Task>("task")!.submission.routes);
  expect(routes).toEqual([{ provider: "openai", model: openai[1] }]);
});

test("every other route makes an opaque background, so that it may be asked for", async () => {
  const account = await newAccount();
  for (const route of [["modelark", "seedream-4-5-251128"], ["google", "gemini-3-pro-image"], ["sandbox", model], openai] as Route[])
    expect((await submit(account, { background: "opaque" }, route)).status).toBe(200);
});

test("under /v1 the options are unknown fields, which are ignored", async () => {
  const { key } = await newAccount();
  const body = { model, prompt: unique(), output_format: "webp", background: "transparent" };
  const answer = await call(path, { key, body, vars: { ROUTES: { [model]: [{ provider: "sandbox", model }] } } });
  expect(answer.status).toBe(200);
  expect(Object.keys(answer.body.metadata)).not.toEqual(expect.arrayContaining(["output_format"]));
});
