/** ModelArk's refusals, and failures of its videos and images: each to its end, with the money returned. */

import { beforeEach, expect, test, vi } from "vitest";
import { isUnhealthy } from "../../../src/providers/index.ts";
import { readBalance, call, deliver, finish, holdTime, unique } from "../../support/gateway.ts";
import { images, imageUrl, routes, routeTo, videos } from "./support.ts";
import { readCalls, capture, countAll, generate, sent, submitTo } from "../support.ts";

holdTime();
// Providers that were marked unhealthy are healthy again.
beforeEach(() => void vi.setSystemTime(Date.now() + 120_000));

const kinds: [string, object][] = [
  [images, { model: "imgA-4" }],
  [videos, { model: "vidC-1-0-pro-fast" }],
];

/** Videos and images both fail with this code. */
async function bothEnd(orders: string, code: string, expected: { starts: number; more?: object }): Promise<void> {
  for (const [path, body] of kinds) {
    const prompt = `${unique()} ${orders}`;
    const { account, data } = await generate(routes, path, { ...body, prompt, ...expected.more });
    expect(data, path).toMatchObject({ status: "failed", error: { code } });
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
    expect(await countAll(prompt, "start"), path).toBe(expected.starts);
  }
}

test.each(["limit 2", "overloaded 2", "queue-full 2", "unchecked 1", "unavailable 1"])("[%s] is retried", async (order) => {
  for (const [path, body] of kinds) {
    const prompt = `${unique()} [${order}]`;
    expect((await generate(routes, path, { ...body, prompt })).data.status).toBe("completed");
    expect(await countAll(prompt, "start")).toBe(Number(order.split(" ")[1]) + 1);
  }
});

test.each(["retired", "unopened", "not-activated"])("a model that is %s fails at once, and says nothing of the account", async (order) => {
  await bothEnd(`[${order}]`, "provider_error", { starts: 1 });
  expect(isUnhealthy({ provider: "modelark", model: "" })).toBe(false);
});

test("its own error at submission is not retried: the task may have been accepted", () =>
  bothEnd("[broken]", "provider_error", { starts: 1 }));

test("no second generation when the connection breaks after acceptance", async () => {
  await bothEnd("[drop]", "provider_error", { starts: 1 });
  await bothEnd("[garbled]", "provider_error", { starts: 1 });
});

test("no fallback either when the connection breaks after acceptance", async () => {
  const prompt = `${unique()} [drop]`;
  const table = routeTo("imgA-4", "seedream-4-5-251128", "seedream-5-0-260128");
  const { account, data } = await generate(table, images, { model: "imgA-4", prompt });
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await countAll(prompt, "start")).toBe(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each([
  ["retired", 1],
  ["unopened", 1],
  ["no-such-ratio", 1],
  ["limit", 2],
  ["unavailable", 2],
])("[%s]: falls back to the next route, because nothing was accepted", async (order, times) => {
  const prompt = `${unique()} [${order} ${times}]`;
  const ids = ["dreamina-seedance-2-0-260128", "seedance-1-0-pro-250528"];
  const table = routeTo("vidC-1-0-pro-quality", ...ids);
  const { account, data } = await generate(table, videos, { model: "vidC-1-0-pro-quality", prompt });
  expect(data.status).toBe("completed");
  expect((await sent(prompt)).map(({ model }) => model)).toEqual([...Array.from({ length: times }, () => ids[0]), ids[1]]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.3 });
});

test("content refused at submission fails the task: text, and an image with a real face", async () => {
  await bothEnd("[moderated]", "content_policy_violation", { starts: 1 });
  await bothEnd("[face]", "content_policy_violation", { starts: 1, more: { images: [imageUrl] } });
});

test("content refused later fails the task: OutputVideoSensitiveContentDetected in the task, OutputImage... in data[]", () =>
  bothEnd("[moderated-later]", "content_policy_violation", { starts: 1 }));

test("content refused by Volcengine's risk control fails the task too: text at submission, an output later", async () => {
  await bothEnd("[risk]", "content_policy_violation", { starts: 1 });
  await bothEnd("[risk-later]", "content_policy_violation", { starts: 1 });
});

test("an image that cannot be fetched or read is the caller's fault; a value that the adapter chose is not", async () => {
  await bothEnd("[bad-image]", "invalid_input", { starts: 1, more: { images: [imageUrl] } });
  await bothEnd("[no-such-ratio]", "provider_error", { starts: 1, more: { images: [imageUrl] } });
  await bothEnd("[bad-image]", "provider_error", { starts: 1 });
});

test("a refusal with an empty param is not attributed to the caller's image: the next route is used", async () => {
  await bothEnd("[paramless]", "provider_error", { starts: 1, more: { images: [imageUrl] } });
  const prompt = `${unique()} [paramless 1]`;
  const table = routeTo("vidA-2", "dreamina-seedance-2-0-fast-260128", "dreamina-seedance-2-0-260128");
  const { data } = await generate(table, videos, { model: "vidA-2", prompt, images: [imageUrl] });
  expect(data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(2);
});

test.each(["fails", "lapsed", "empty", "forgotten"])(
  "a task that %s is a provider_error, and falls back to the next route",
  async (order) => {
    const prompt = `${unique()} [${order}]`;
    const table = routeTo("vidA-2", "dreamina-seedance-2-0-260128", "dreamina-seedance-2-5-260628");
    const { account, data } = await generate(table, videos, { model: "vidA-2", prompt });
    expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
    expect(await countAll(prompt, "start")).toBe(2);
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  },
);

test("an undocumented status counts as pending", async () => {
  const prompt = `${unique()} [odd 3]`;
  expect((await generate(routes, videos, { model: "vidA-2", prompt })).data.status).toBe("completed");
});

test("a poll refused because of our key succeeds when the key works again", async () => {
  const prompt = `${unique()} [locked 2]`;
  const { data } = await generate(routes, videos, { model: "vidA-2", prompt });
  expect(data.status).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test("a broken download is repeated, and the video is not generated again", async () => {
  const prompt = `${unique()} [truncated 1]`;
  const { account, data } = await generate(routes, videos, { model: "vidA-2", prompt });
  expect(data.status).toBe("completed");
  expect((await readCalls(prompt)).filter((name) => name !== "poll")).toEqual(["start", "file", "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 1 });
});

test("a video whose URL has expired is a provider_error", () =>
  generate(routes, videos, { model: "vidA-2", prompt: `${unique()} [expired]` }).then(async ({ account, data }) => {
    expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  }));

test.each(["wallet", "quota", "budget"])(
  "without funds: %s marks it unhealthy, with an alert, and the task fails at once",
  async (order) => {
    const alerts = vi.spyOn(console, "error");
    await bothEnd(`[${order}]`, "provider_error", { starts: 1 });
    expect(isUnhealthy({ provider: "modelark", model: "" })).toBe(true);
    expect(alerts.mock.calls.flat().map(String).join()).toContain("account_fault");
  },
);

test("wrong credentials mark it unhealthy, with an alert, and appear nowhere", async () => {
  const lines = capture();
  const { account, body } = await submitTo(routes, images, { model: "imgA-4", prompt: unique() });
  await deliver(body.id, "gateway-dispatch", { ARK_API_KEY: "wrong-key-of-the-operator" });
  const { data } = (await call(`/v1/tasks/${body.id}`, { key: account.key })).body;
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(isUnhealthy({ provider: "modelark", model: "" })).toBe(true);
  expect(lines.join("\n")).toContain("account_fault");

  const video = await submitTo(routes, videos, { model: "vidA-2", prompt: `${unique()} [queued 1] [locked 1]` });
  const done = await finish(video.account, video.body.id, 40);
  const answers = JSON.stringify([data, done.body, (await call("/v1/tasks", { key: account.key })).body]);
  for (const key of ["wrong-key-of-the-operator", "test-ark-key"]) {
    expect(answers).not.toContain(key);
    expect(lines.filter((line) => line.includes(key))).toEqual([]);
  }
});

test("the only provider is used even while it is unhealthy", async () => {
  await bothEnd("[wallet]", "provider_error", { starts: 1 });
  expect(isUnhealthy({ provider: "modelark", model: "" })).toBe(true);
  expect((await generate(routes, images, { model: "imgA-4", prompt: unique() })).data.status).toBe("completed");
});
