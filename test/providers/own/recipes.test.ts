/** The recipes of "Sell another model" in docs/models.md, as they are written there. */

import "../../support/alone.ts";
import { beforeEach, expect, test } from "vitest";
import guide from "../../../docs/models.md?raw";
import { asAdmin, call, finish, holdTime, newAccount, settledBalance, submit, unique } from "../../support/gateway.ts";
import { deleteModels } from "../../support/models.ts";
import { sent } from "../support.ts";

holdTime();
beforeEach(deleteModels);

/** The entry in a recipe, by the heading that it follows. */
function readRecipe(heading: string): Record<string, unknown> {
  const section = guide.slice(guide.indexOf(`### ${heading}`));
  return JSON.parse(/```json\n(.*?)```/s.exec(section)![1]!) as Record<string, unknown>;
}

const put = (id: string, body: object, vars?: Partial<Env>) => asAdmin(`/models/${id}`, { method: "PUT", body, ...(vars && { vars }) });

test("a text model at an OpenAI-compatible server", async () => {
  const account = await newAccount();
  const vars = { COMPATIBLE_API_KEY: "test-openai-key" };
  const entry = readRecipe("A text model at an OpenAI-compatible server");
  const [route] = entry["routes"] as { settings: object }[];
  // The emulated server is at another address and has other models.
  const here = { ...entry, routes: [{ ...route, model: "gpt-5.5", settings: { base_url: "https://api.openai.com/v1/" } }] };
  expect(await put("house-llama", here, vars)).toMatchObject({ status: 201 });
  const prompt = unique();
  const body = { model: "house-llama", messages: [{ role: "user", content: prompt }] };
  const answer = await call("/v1/chat/completions", { key: account.key, body, vars });
  expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 200, body: { model: "house-llama", choices: [{}] } });
  expect((await settledBalance(account)).used).toBeGreaterThan(0);
  const off = await call("/v1/chat/completions", { key: account.key, body });
  expect(off.body.error).toMatchObject({ code: "model_not_available" });
});

test.each([
  ["no address", {}],
  ["no URL", { base_url: "llm.example" }],
  ["another scheme", { base_url: "ftp://llm.example/v1" }],
  ["a password", { base_url: "https://me:secret@llm.example/v1" }],
  ["a query", { base_url: "https://llm.example/v1?key=1" }],
])("such a route with %s is refused when it is saved", async (_, settings) => {
  const routes = [{ provider: "compatible", model: "llama", settings }];
  const refused = await put("house-llama", { kind: "text", price: { input: 1, output: 1 }, routes }, { COMPATIBLE_API_KEY: "none" });
  expect(refused).toMatchObject({ status: 400, body: { error: { details: [{ param: "routes[0].settings.base_url" }] } } });
});

test("a model like one of the interface", async () => {
  const account = await newAccount();
  expect(await put("reef-video", readRecipe("A model like one of the interface"))).toMatchObject({ status: 201 });
  const prompt = unique();
  const id = await submit(account, "/v1/videos/generations", { model: "reef-video", prompt, duration: 5 });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", model: "reef-video" });
  expect(await sent(prompt)).toHaveLength(1);
});

test("a model with its own input", async () => {
  const account = await newAccount();
  expect(await put("narrator", readRecipe("A model with its own input"))).toMatchObject({ status: 201 });
  const text = unique();
  const id = await submit(account, "/v1/tasks", { model: "narrator", input: { text } });
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", result: { files: [{ type: "audio/mpeg" }] } });
});
