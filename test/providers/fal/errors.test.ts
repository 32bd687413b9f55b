/** Errors of the fal queue, and their effects on the task and its money. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toObjectId } from "../../../src/base/ids.ts";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { alarm, readBalance, call, deliver, finish, holdTime, passToPoll, unique } from "../../support/gateway.ts";
import { readFiles, toSubmission } from "./support.ts";
import { readCalls, capture, countAll, generate, routesTo, submitTo } from "../support.ts";

holdTime();

const images = "/v1/images/generations";
const route = (...ids: string[]) => routesTo("fal", "imgA-4", ...ids);
const v4 = "fal-ai/bytedance/seedream/v4";
const v45 = "fal-ai/bytedance/seedream/v4.5";
const image = (order: string) => ({ model: "imgA-4", prompt: `a quay ${order} ${unique()}` });

test.each([
  ["refused at submission", "[moderated]", "content_policy_violation"],
  ["COMPLETED, then 422 with content_policy_violation in detail[]", "[moderated-later]", "content_policy_violation"],
  ["COMPLETED, and every image blackened by its safety checker", "[flagged]", "content_policy_violation"],
  ["COMPLETED, then 422 about the caller's image", "[bad-image]", "invalid_input"],
  ["COMPLETED, then 422 with a detail that is a string", "[string-detail]", "invalid_input"],
  ["COMPLETED, then 422 that is X-Fal-Retryable", "[retryable]", "provider_error"],
  ["COMPLETED, then 422 about a field that no caller gave", "[misfit]", "provider_error"],
  ["COMPLETED, then 504 with error_type", "[timeout]", "provider_error"],
  ["COMPLETED, then 500 in detail[]", "[fails]", "provider_error"],
  ["COMPLETED, and nothing made", "[empty]", "provider_error"],
  ["a request that the queue forgot", "[unknown]", "provider_error"],
  ["a retired model", "[retired]", "provider_error"],
  ["no runner", "[unavailable]", "provider_error"],
  ["a submission that ends in 500", "[broken]", "provider_error"],
  ["a submission that is redirected elsewhere", "[redirected]", "provider_error"],
  ["a result whose URL has expired", "[expired]", "provider_error"],
])("%s: the task fails and its money is returned", async (_, order, code) => {
  const body = image(order);
  const { account, data } = await generate(route(v4), images, body, 120);
  expect(data).toMatchObject({ status: "failed", error: { code } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  if (order !== "[unavailable]") expect(await countAll(body.prompt, "start")).toBe(1);
});

test.each(["[limit 2]", "[unavailable 1]", "[limit-status 2]", "[hiccup 2]", "[garbled 2]"])(
  "%s is retried, and one image is generated",
  async (order) => {
    const body = image(order);
    const { account, data } = await generate(route(v4), images, body);
    expect(data.status, JSON.stringify(data)).toBe("completed");
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
    expect((await readFiles(body.prompt)).length).toBe(1);
  },
);

test.each([
  "[retired 1]",
  "[retryable 1]",
  "[needs-retry 1]",
  "[misfit 1]",
  "[too-long 1]",
  "[too-many 1]",
  "[downstream 1]",
  "[no-media 1]",
  "[timeout 1]",
  "[fails 1]",
])("%s falls back to the second route", async (order) => {
  const body = image(order);
  const { account, data } = await generate(route(v4, v45), images, body);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(body.prompt, "start")).toBe(2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
});

test("refused content is not submitted to other routes", async () => {
  const body = image("[moderated-later 1]");
  const { data } = await generate(route(v4, v45), images, body);
  expect(data.error.code).toBe("content_policy_violation");
  expect(await countAll(body.prompt, "start")).toBe(1);
});

test.each(["[drop]", "[broken]", "[foreign]"])("%s: the outcome is unknown, so nothing is generated again", async (order) => {
  const body = image(order);
  const { account, data } = await generate(route(v4, v45), images, body);
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(body.prompt)).toEqual(["start"]);
});

test("status, result and cancel URLs on a foreign origin are not requested", async () => {
  const body = image("[foreign]");
  const asked = vi.spyOn(globalThis, "fetch");
  await generate(route(v4), images, body);
  const addresses = asked.mock.calls.map(([address]) => (address as string).replace(/\?fal_webhook=.*/, ""));
  expect(addresses).toContain(`https://queue.fal.run/${v4}/text-to-image`);
  expect(addresses.filter((address) => address.includes("foreign"))).toEqual([]);
});

test("if the answer to a start has no URLs, they are built as in the official client", async () => {
  const { data } = await generate(route(v4), images, image("[bare]"));
  expect(data.status).toBe("completed");
});

test("a broken download is repeated without a second generation", async () => {
  const body = { model: "vidB-3.1-fast", prompt: `a quay [truncated 1] ${unique()}` };
  const { data } = await generate({ "vidB-3.1-fast": [{ provider: "fal", model: "fal-ai/veo3.1/fast" }] }, "/v1/videos/generations", body);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(body.prompt, "start")).toBe(1);
  const stored = await call(data.result.videos[0].url[0]);
  expect(new Uint8Array(stored.body)).toEqual((await readFiles(body.prompt))[0]);
});

test("a file without a declared length is stored whole", async () => {
  const body = image("[unknown-length]");
  const { data } = await generate(route(v4), images, body);
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const stored = await call(data.result.images[0].url[0]);
  expect(new Uint8Array(stored.body)).toEqual((await readFiles(body.prompt))[0]);
});

test("cancelling a task cancels its request in the queue", async () => {
  const body = image("[queued]");
  const { account, body: made } = await submitTo(route(v4), images, body);
  await deliver(made.id);
  await passToPoll(made.id);
  const cancelled = await call(`/v1/tasks/${made.id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status, JSON.stringify(cancelled.body)).toBe(200);
  await alarm(made.id);
  expect(await readCalls(body.prompt)).toEqual(["start", "poll", "poll", "cancel"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a task that never completes is cancelled in the queue at its deadline", async () => {
  const body = image("[running]");
  const { account, data } = await generate(route(v4), images, body, 120);
  expect(data.error.code).toBe("deadline_exceeded");
  expect((await readCalls(body.prompt)).at(-1)).toBe("cancel");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(["a wrong key", "an empty wallet"])("%s marks the provider unhealthy and alerts the operator", async (fault) => {
  vi.setSystemTime(Date.now() + 61_000);
  expect(isUnhealthy({ provider: "fal", model: "" })).toBe(false);
  const alerts = vi.spyOn(console, "error").mockImplementation(() => undefined);
  const body = image(fault === "a wrong key" ? "" : "[wallet]");
  const { account, body: made } = await submitTo(route(v4), images, body);
  await deliver(made.id, "gateway-dispatch", fault === "a wrong key" ? { FAL_KEY: "wrong-key" } : {});
  expect(isUnhealthy({ provider: "fal", model: "" })).toBe(true);
  const lines = alerts.mock.calls.map(([line]) => JSON.parse(line as string) as object);
  expect(lines).toContainEqual({ unit: "provider", provider: "fal", outcome: "account_fault" });
  const { data } = (await finish(account, made.id)).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("the key appears in no log line, record or answer", async () => {
  const texts = capture();
  for (const order of ["", "[broken]", "[foreign]", "[wallet]", "[timeout]", "[hiccup 1]", "[expired]", "[drop]"]) {
    const body = image(order);
    const { account, id } = await generate(route(v4), images, body);
    texts.push(JSON.stringify((await call(`/v1/tasks/${id}`, { key: account.key })).body));
    const object = env.TASKS.get(toObjectId(env.TASKS, id)!);
    texts.push(await runInDurableObject(object, (_, state) => JSON.stringify(state.storage.kv.get("task"))));
    expect(await toSubmission(body.prompt)).toBeDefined();
  }
  expect(texts.length).toBeGreaterThan(40);
  expect(texts.filter((text) => text.includes("test-fal-key"))).toEqual([]);
});

test("a result is not lost when the key is refused while it is fetched", async () => {
  const body = image("");
  const { account, body: made } = await submitTo(route(v4), images, body);
  await deliver(made.id);
  await passToPoll(made.id);
  await deliver(made.id, "gateway-dispatch", { FAL_KEY: "wrong-key" });
  const { data } = (await finish(account, made.id)).body;
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(body.prompt, "start")).toBe(1);
  vi.setSystemTime(Date.now() + 61_000);
});
