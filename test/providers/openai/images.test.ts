/** Images by OpenAI's format: the upstream's request, its answer, and the cost of every kind of refusal. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, unique } from "../../support/gateway.ts";
import { base64 } from "../../media/images.ts";
import { asked, readCalls, capture, countAll, generate, type Routes, submitTo } from "../support.ts";

holdTime();
// Providers that one test marked unhealthy are healthy in the next.
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const path = "/v1/images/generations";
const models = ["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview"];
const allTo = (...upstream: string[]): Routes =>
  Object.fromEntries(models.map((model) => [model, upstream.map((id) => ({ provider: "openai", model: id }))]));
const routes = allTo("gpt-image-2");
const make = (prompt: string, more: object = {}, to = routes) => generate(to, path, { model: "imgB-4o-image", prompt, ...more });

async function expectPng(url: string): Promise<void> {
  const { status, headers, body } = await call(url);
  expect([status, headers.get("content-type")]).toEqual([200, "image/png"]);
  expect(new Uint8Array(body).subarray(0, 4)).toEqual(new Uint8Array([0x89, 0x50, 0x4e, 0x47]));
}

const nothingPaid = { reserved: 0, used: 0 };

test.each(models)("%s is made by one request, and its bytes are those that the upstream sent", async (model) => {
  const prompt = unique();
  const { account, data } = await make(prompt, { model, n: 3, quality: "hd", size: "16:9" });
  expect(data).toMatchObject({ status: "completed" });
  const urls = data.result.images.map(({ url }: { url: string[] }) => url[0]);
  expect(urls).toHaveLength(3);
  for (const url of urls) await expectPng(url);
  const entries = await asked(prompt);
  expect(entries.map(({ call, body }) => ({ call, body }))).toEqual([
    { call: "start", body: { model: "gpt-image-2", prompt, n: 3, size: "1792x1024", quality: "high" } },
  ]);
  expect((await readBalance(account)).reserved).toBe(0);
  expect((await readBalance(account)).used).toBeGreaterThan(0);
});

test.each([
  ["1:1", "1024x1024"],
  ["9:16", "1024x1792"],
  ["4:3", "1360x1024"],
  ["3:4", "1024x1360"],
  ["3:2", "1536x1024"],
  ["2:3", "1024x1536"],
])("%s is requested as %s, in standard quality as medium", async (size, pixels) => {
  const prompt = unique();
  expect((await make(prompt, { size })).data.status).toBe("completed");
  expect((await asked(prompt))[0]!.body).toMatchObject({ size: pixels, quality: "medium", n: 1 });
});

/** The form of an edit, its files as data URIs. */
const readForm = async (prompt: string) => (await asked(prompt)).find((entry) => entry.call === "form")!.body as { "image[]": string[] };

test("images are sent as files of a form in the caller's order, also at a ratio that the JSON body does not take", async () => {
  const prompt = unique();
  const images = [`data:image/png;base64,${base64.png}`, `data:image/jpeg;base64,${base64.jpeg}`];
  const { data } = await make(prompt, { images, size: "16:9" });
  expect(data.status).toBe("completed");
  expect(await readForm(prompt)).toMatchObject({ "image[]": images, model: "gpt-image-2", n: "1", size: "1792x1024", prompt });
  expect(await countAll(prompt, "edit")).toBe(1);
});

test("an image at a URL is fetched by the gateway", async () => {
  const prompt = unique();
  const real = globalThis.fetch.bind(globalThis);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) =>
    new Request(input).url === "https://images.example/a.png" ? new Response(Uint8Array.fromBase64(base64.png)) : real(input, init),
  );
  expect((await make(prompt, { images: ["https://images.example/a.png"] })).data.status).toBe("completed");
  vi.restoreAllMocks();
  expect(await readForm(prompt)).toMatchObject({ "image[]": [`data:image/png;base64,${base64.png}`] });
});

test("large images arrive complete, written while they are sent", async () => {
  const prompt = unique();
  const bytes = new Uint8Array(3_000_001);
  bytes.set(Uint8Array.fromBase64(base64.png));
  for (let at = 200; at < bytes.length; at++) bytes[at] = at % 251;
  const image = `data:image/png;base64,${bytes.toBase64()}`;
  expect((await make(prompt, { images: [image, image] })).data.status).toBe("completed");
  expect((await readForm(prompt))["image[]"].map((file) => file === image)).toEqual([true, true]);
});

test("an image at an http URL is fetched by the gateway; if that fails, it is the caller's fault and nothing was submitted", async () => {
  const prompt = unique();
  const { account, data } = await make(prompt, { images: ["http://nobody.example/a.png"] });
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("fewer images than requested are charged as that many", async () => {
  const { account, data } = await make(`[fewer] ${unique()}`, { n: 4 });
  expect(data.result.images).toHaveLength(1);
  const whole = (await make(unique(), { n: 4 })).account;
  expect((await readBalance(account)).used * 4).toBeCloseTo((await readBalance(whole)).used);
});

test.each([
  ["[moderated]", "content_policy_violation", 1],
  ["[wallet]", "provider_error", 1],
  ["[hard-limit]", "provider_error", 1],
  ["[retired]", "provider_error", 1],
  ["[nothing]", "provider_error", 1],
  ["[broken]", "provider_error", 1],
  ["[drop]", "provider_error", 1],
])("%s fails as %s, costs nothing and is submitted once", async (order, code, starts) => {
  const prompt = `${order} ${unique()}`;
  const { account, data } = await make(prompt);
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(JSON.stringify(data)).not.toMatch(/openai|api key|quota, please/i);
  expect(await readCalls(prompt)).toEqual(Array.from({ length: starts }, () => "start"));
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("images with URLs, as other services of this format answer, are fetched without the key, and again after a broken download", async () => {
  const prompt = `[elsewhere] [truncated 1] ${unique()}`;
  const { data } = await make(prompt);
  expect(data.status).toBe("completed");
  await expectPng(data.result.images[0].url[0]);
  expect(await readCalls(prompt)).toEqual(["start", "file", "file"]);
});

test("images whose URLs are gone fail as provider_error", async () => {
  const prompt = `[elsewhere] [expired] ${unique()}`;
  const { account, data } = await make(prompt);
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await countAll(prompt, "start")).toBe(1);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("an image that the upstream cannot fetch is the caller's fault", async () => {
  const prompt = `[unreachable] ${unique()}`;
  const { account, data } = await make(prompt, { images: [`data:image/png;base64,${base64.png}`] });
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test.each(["[limit 1]", "[unavailable 2]"])("%s is retried, and one image is made", async (order) => {
  const prompt = `${order} ${unique()}`;
  expect((await make(prompt)).data.status).toBe("completed");
  expect((await readCalls(prompt)).length).toBe(order === "[limit 1]" ? 2 : 3);
});

test.each(["[retired 1]", "[wallet 1]", "[hard-limit 1]", "[limit 2]", "[nothing 1]"])("%s falls back to the next route", async (order) => {
  const prompt = `${order} ${unique()}`;
  const { account, data } = await make(prompt, {}, allTo("gpt-image-1.5", "gpt-image-2.6-sunburst"));
  expect(data.status).toBe("completed");
  const bodies = (await asked(prompt)).map(({ body }) => (body as { model: string }).model);
  expect(new Set(bodies)).toEqual(new Set(["gpt-image-1.5", "gpt-image-2.6-sunburst"]));
  expect(bodies.at(-1)).toBe("gpt-image-2.6-sunburst");
  expect((await readBalance(account)).reserved).toBe(0);
});

test.each(["[drop]", "[moderated]", "[broken]"])("%s has no fallback: the outcome is unknown, or the content is refused", async (order) => {
  const prompt = `${order} ${unique()}`;
  const { account, data } = await make(prompt, {}, allTo("gpt-image-2", "gpt-image-2.5-flare"));
  expect(data.status).toBe("failed");
  expect(await readCalls(prompt)).toEqual(["start"]);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("the retired id gpt-image-1 fails at once, without a second attempt", async () => {
  const { account, data } = await make(unique(), {}, allTo("gpt-image-1"));
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});

test("sizes of the first family: 16:9 is refused by field and reserves nothing, or goes to a route that can", async () => {
  const body = { model: "imgB-4o-image", prompt: unique(), size: "16:9" };
  const { account, ...answer } = await submitTo(allTo("gpt-image-1.5"), path, body);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: "unsupported_parameter", param: "size" } } });
  expect(await readBalance(account)).toMatchObject(nothingPaid);
  expect((await make(body.prompt, body, allTo("gpt-image-1.5", "gpt-image-2"))).data.status).toBe("completed");
  expect((await asked(body.prompt)).map((entry) => entry.body)).toMatchObject([{ model: "gpt-image-2" }]);
});

test("a model that the organization must be verified for is a fault of the route, not of the account", async () => {
  const prompt = `[unverified 1] ${unique()}`;
  const { data } = await make(prompt, {}, allTo("gpt-image-2.6-sunburst", "gpt-image-2"));
  expect(data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(2);
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(false);
});

test("wrong credentials mark the provider unhealthy and alert; the caller's money is returned, and no log line contains the key", async () => {
  const lines = capture();
  const { account, body } = await submitTo(routes, path, { model: "imgB-4o-image", prompt: unique() });
  await deliver(body.id, "gateway-dispatch", { OPENAI_API_KEY: "sk-wrong-secret" });
  const { data } = (await finish(account, body.id)).body;
  vi.restoreAllMocks();
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(isUnhealthy({ provider: "openai", model: "" })).toBe(true);
  const alerts = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(alerts).toContainEqual({ unit: "provider", provider: "openai", outcome: "account_fault" });
  expect(alerts).toContainEqual(expect.objectContaining({ unit: "dispatch", outcome: "fault", reason: "start (invalid_api_key): 401" }));
  expect(lines.join("\n") + JSON.stringify(data)).not.toMatch(/sk-wrong-secret|test-openai-key/);
  expect(await readBalance(account)).toMatchObject(nothingPaid);
});
