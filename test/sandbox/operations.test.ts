/** Operations from submission to deletion: time, keys, directives, cancelling, unknown ids. */

import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { readError, image, operations, post, request, step, submit, useSteppedClock, video, view, type View } from "./support.ts";

useSteppedClock();

test("an image is ready after two seconds", async () => {
  const response = await post("/v1/operations", { key: "image", ...image, n: 2 });
  expect(response.status).toBe(202);
  const { id, status, poll_after_ms } = await response.json<View>();
  expect({ status, poll_after_ms }).toEqual({ status: "queued", poll_after_ms: 2020 });
  step(1000);
  expect(await view(id)).toEqual({ id, status: "running", progress: 50, poll_after_ms: 1020 });
  step(1000);
  expect(await view(id)).toEqual({
    id,
    status: "succeeded",
    progress: 100,
    outputs: [0, 1].map((index) => ({ url: `/v1/operations/${id}/outputs/${index}`, type: "image/png", width: 1024, height: 1024 })),
  });
});

test("a client that polls a video as often as advised polls three times, and sees progress", async () => {
  const id = await submit({ ...video, thumbnail: true });
  const seen: { status: string; progress: number }[] = [];
  let wait = 2000;
  for (let polls = 0; polls < 3; polls++) {
    step(wait);
    const { status, progress, poll_after_ms } = await view(id);
    seen.push({ status, progress });
    wait = poll_after_ms ?? 0;
  }
  expect(seen).toEqual([
    { status: "running", progress: 33 },
    { status: "running", progress: 66 },
    { status: "succeeded", progress: 100 },
  ]);
  const url = `/v1/operations/${id}/outputs/0`;
  expect((await view(id)).outputs).toEqual([
    { url, type: "video/mp4", width: 1280, height: 720, duration: 10, thumbnail_url: `${url}/thumbnail` },
  ]);
});

test("the same key gives the same operation, and its time does not restart", async () => {
  const first = await (await post("/v1/operations", { key: "same", ...image })).json<View>();
  step(1500);
  const second = await (await post("/v1/operations", { key: "same", ...image })).json<View>();
  expect(second).toEqual({ id: first.id, status: "running", poll_after_ms: 520 });
  const other = await (await post("/v1/operations", { key: "other", ...image })).json<View>();
  expect(other.id).not.toBe(first.id);
});

test.each([
  ["no key", { ...image }],
  ["an empty prompt", { key: "bad", ...image, prompt: "" }],
  ["an unknown kind", { key: "bad", ...image, kind: "song" }],
  ["no images", { key: "bad", ...image, n: 0 }],
  ["half an image", { key: "bad", ...image, n: 1.5 }],
  ["a ratio without pixels", { key: "bad", ...image, size: "5:4" }],
  ["a ratio without videos at its resolution", { key: "bad", ...video, size: "1:1", resolution: "768p" }],
  ["a resolution that is none", { key: "bad", ...video, resolution: "high" }],
  ["a duration in words", { key: "bad", ...video, duration: "10" }],
  ["a scalar", "bad"],
])("%s is refused", async (_, body) => {
  expect(await readError(await post("/v1/operations", body))).toEqual({ status: 400, code: "invalid_request" });
});

test("a body that is not JSON is refused", async () => {
  const response = await request("/v1/operations", { method: "POST", body: "{" });
  expect(await readError(response)).toEqual({ status: 400, code: "invalid_request" });
});

test("an id that was never issued is unknown and leaves no trace", async () => {
  const before = await listDurableObjectIds(operations);
  for (const id of [`op_${"0".repeat(64)}`, `op_${"f".repeat(64)}`, "op_1", "nonsense"]) {
    for (const [path, method] of [
      ["", "GET"],
      ["", "DELETE"],
      ["/outputs/0", "GET"],
      ["/outputs/0/thumbnail", "GET"],
    ] as const) {
      const response = await request(`/v1/operations/${id}${path}`, { method });
      expect(await readError(response)).toEqual({ status: 404, code: "not_found" });
    }
  }
  expect(await listDurableObjectIds(operations)).toEqual(before);
});

test("outputs are 404 before success, and beyond the requested number", async () => {
  const id = await submit(image);
  expect(await readError(await request(`/v1/operations/${id}/outputs/0`))).toEqual({ status: 409, code: "not_ready" });
  step(2000);
  expect((await request(`/v1/operations/${id}/outputs/0`)).status).toBe(200);
  expect((await request(`/v1/operations/${id}/outputs/1`)).status).toBe(404);
  expect((await request(`/v1/operations/${id}/outputs/0/thumbnail`)).status).toBe(404);
  expect((await request(`/v1/operations/${id}/outputs/x`)).status).toBe(404);
});

test("sandbox:reject is refused at submission and nothing is stored", async () => {
  const before = await listDurableObjectIds(operations);
  const response = await post("/v1/operations", { key: "rejected", ...image, prompt: "a fox sandbox:reject" });
  expect(await readError(response)).toEqual({ status: 422, code: "content_policy_violation" });
  expect(await listDurableObjectIds(operations)).toEqual(before);
});

test.each([
  ["flag", "content_policy_violation"],
  ["fail", "provider_error"],
])("sandbox:%s fails at the normal time", async (directive, code) => {
  const id = await submit({ ...video, prompt: `a fox sandbox:${directive}` });
  step(5999);
  expect((await view(id)).status).toBe("running");
  step(1);
  const { status, error } = await view(id);
  expect({ status, code: error?.code }).toEqual({ status: "failed", code });
  expect((await request(`/v1/operations/${id}/outputs/0`)).status).toBe(409);
});

test("sandbox:flaky fails once at submission and once at the first poll, then succeeds", async () => {
  const order = { key: "flaky", ...image, prompt: "a fox sandbox:flaky" };
  const refused = await post("/v1/operations", order);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await readError(refused)).toEqual({ status: 503, code: "temporarily_unavailable" });
  const { id } = await (await post("/v1/operations", order)).json<View>();
  step(2000);
  const broken = await request(`/v1/operations/${id}`);
  expect(broken.headers.get("retry-after")).toBe("1");
  expect(await readError(broken)).toEqual({ status: 503, code: "temporarily_unavailable" });
  expect((await view(id)).status).toBe("succeeded");
});

test("sandbox:slow takes a minute", async () => {
  const id = await submit({ ...image, prompt: "a fox sandbox:slow" });
  step(59_999);
  expect(await view(id)).toEqual({ id, status: "running", progress: 99, poll_after_ms: 21 });
  step(1);
  expect((await view(id)).status).toBe("succeeded");
});

test("sandbox:hang never ends, but can be cancelled, and nothing of it remains", async () => {
  const id = await submit({ ...video, prompt: "a fox sandbox:hang" });
  step(60 * 60 * 1000);
  expect(await view(id)).toMatchObject({ status: "running", progress: 90, poll_after_ms: 5000 });
  const response = await request(`/v1/operations/${id}`, { method: "DELETE" });
  expect([response.status, await response.json()]).toEqual([200, { id, status: "cancelled" }]);
  await expectErased(id);
});

test("an ended operation is erased: its prompt, its outputs and its alarm", async () => {
  const id = await submit(image);
  step(2000);
  const response = await request(`/v1/operations/${id}`, { method: "DELETE" });
  expect([response.status, await response.json()]).toEqual([200, { id, status: "succeeded" }]);
  await expectErased(id);
});

async function expectErased(id: string): Promise<void> {
  for (const [path, method] of [
    ["", "GET"],
    ["", "DELETE"],
    ["/outputs/0", "GET"],
  ] as const)
    expect(await readError(await request(`/v1/operations/${id}${path}`, { method }))).toEqual({ status: 404, code: "not_found" });
  const stub = operations.get(operations.idFromString(id.slice(3)));
  const left = await runInDurableObject(stub, async (_, { storage }) => [[...storage.kv.list()], await storage.getAlarm()]);
  expect(left).toEqual([[], null]);
}

test("a record is deleted by its alarm, and its key can be used again", async () => {
  const id = await submit({ ...image, key: "forgotten" });
  const stub = operations.get(operations.idFromString(id.slice(3)));
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect((await request(`/v1/operations/${id}`)).status).toBe(404);
  expect(await submit({ ...image, key: "forgotten" })).toBe(id);
  expect((await view(id)).progress).toBe(0);
});

test("unknown paths are 404", async () => {
  expect(await readError(await request("/v2/operations"))).toEqual({ status: 404, code: "not_found" });
});
