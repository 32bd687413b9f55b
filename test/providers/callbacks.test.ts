/** Makers' callbacks: requested at the start, verified, and followed by one poll, whatever their content and number. Finished work is polled once more, by its collection. */

import { expect, test, vi } from "vitest";
import type { Task } from "../../src/tasks/record.ts";
import { TaskObject } from "../../src/tasks/object/task-object.ts";
import { bindings, openStub, spyOn } from "../support/faults.ts";
import { alarm, alarmAt, readBalance, call, deliver, finish, holdTime, pass, unique } from "../support/gateway.ts";
import type { Call } from "../upstreams/emulator.ts";
import { announce, readCalls, callsOfMakers, capture, countAll, type Routes, routesTo, submitTo } from "./support.ts";

holdTime();

const path = "/v1/videos/generations";
const video = (prompt: string) => ({ model: "vidD-02", prompt, duration: 10 });
const seedance = { ...routesTo("modelark", "vidC-1-0-pro-fast", "seedance-1-0-pro-fast-251015") };
const hailuo = routesTo("minimax", "vidD-02", "MiniMax-Hailuo-02");

/** A task that its provider has accepted, and its maker's calls. */
async function begin(routes: Routes, words = "", vars: Partial<Env> = {}) {
  const prompt = `${unique()} ${words}`;
  const [model = ""] = Object.keys(routes);
  const { account, status, body } = await submitTo(routes, path, model === "vidD-02" ? video(prompt) : { model, prompt });
  expect(status, JSON.stringify(body)).toBe(200);
  const id = body.id as string;
  await deliver(id, "gateway-dispatch", vars);
  const data = async () => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data;
  return { account, prompt, id, data, calls: await callsOfMakers(prompt), polls: () => countAll(prompt, "poll") };
}

const record = async (id: string, accountId: string): Promise<Task> => (await openStub(id).read(accountId))!;
const last = (calls: Call[]) => calls.at(-1)!;

const makers: [string, Routes, number][] = [
  ["fal", routesTo("fal", "vidD-02", "fal-ai/minimax/hailuo-02"), 1],
  ["replicate", routesTo("replicate", "vidD-02", "minimax/hailuo-2.3"), 1],
  ["minimax", hailuo, 3],
  ["minimax", routesTo("minimax", "vidD-02", "MiniMax-H3"), 3],
  ["modelark", seedance, 3],
];

test.each(makers)("%s gets the task's URL, and its call completes the task without waiting for a poll", async (provider, routes, count) => {
  const task = await begin(routes);
  expect(task.calls).toHaveLength(count);
  for (const { url } of task.calls)
    expect(url).toMatch(new RegExp(`^https://gateway\\.example/callbacks/${provider}/${task.id}/[\\w-]{43}$`));
  await pass(task.id, 20);
  for (const one of task.calls.slice(0, -1)) expect((await announce(one)).status).toBe(200);
  expect(await task.polls()).toBe(0);
  const sends = spyOn(bindings.queue(), "send").mockClear();
  expect(await announce(last(task.calls))).toMatchObject({ status: 200, body: { status: "success" } });
  expect(await task.polls()).toBe(2);
  expect(sends).not.toHaveBeenCalled();
  expect(await task.data()).toMatchObject({ status: "completed" });
  expect((await readBalance(task.account)).reserved).toBe(0);
});

test.each(makers)("without its call, %s is polled once after more than the typical duration", async (_, routes) => {
  const task = await begin(routes);
  const { submission, step } = await record(task.id, task.account.id);
  expect(step).toEqual({ do: "poll", at: Date.now() + submission.typicalSeconds * 1250 });
  await pass(task.id, submission.typicalSeconds * 1.25);
  expect(await task.polls()).toBe(1);
  await deliver(task.id);
  expect((await task.data()).status).toBe("completed");
});

test("several images are several predictions: each calls, and the task completes when the last has ended", async () => {
  const prompt = unique();
  const routes = routesTo("replicate", "imgA-4", "bytedance/seedream-4.5");
  const { account, body } = await submitTo(routes, "/v1/images/generations", { model: "imgA-4", prompt, n: 3 });
  await deliver(body.id);
  const calls = await callsOfMakers(prompt);
  expect(new Set(calls.map(({ url }) => url)).size).toBe(1);
  expect(calls).toHaveLength(3);
  for (const one of calls) expect((await announce(one)).status).toBe(200);
  const { data } = (await finish(account, body.id)).body;
  expect(data).toMatchObject({ status: "completed", cost: { charged: 0.09 } });
});

test("MiniMax's challenge is sent back, and the task's object is not started for it", async () => {
  const { calls } = await begin(hailuo);
  const woken = vi.spyOn(TaskObject.prototype, "calledBack");
  expect((await announce(calls[0]!)).body).toEqual(JSON.parse(calls[0]!.body));
  expect(woken).not.toHaveBeenCalled();
});

test.each([
  ["says that work has ended which has not", "[running 1]", {}, "in_progress"],
  [
    "says that work has failed which has not",
    "",
    { status: "failed", error: { code: "OutputVideoSensitiveContentDetected" } },
    "completed",
  ],
  ["names a video of its own", "", { status: "succeeded", content: { video_url: "https://evil.example/a.mp4" } }, "completed"],
  ["is no JSON", "", "<html>", "completed"],
  ["is empty", "", "", "completed"],
])("the content of a callback is not trusted: it %s", async (_, words, body, status) => {
  const task = await begin(seedance, words);
  const fetched = vi.spyOn(globalThis, "fetch");
  const { url, headers } = last(task.calls);
  const sent = { url, headers, body: typeof body === "string" ? body : JSON.stringify(body) };
  expect((await announce(sent)).status).toBe(200);
  await deliver(task.id);
  expect((await task.data()).status).toBe(status);
  expect(fetched.mock.calls.filter(([asked]) => (asked as string).includes("evil"))).toEqual([]);
});

test.each([
  ["another task's signature", (url: string, other: string) => url.replace(/[^/]+$/, other.split("/").at(-1)!)],
  ["another provider's", (url: string) => url.replace("/modelark/", "/minimax/")],
  ["a signature with one letter changed", (url: string) => url.replace(/.$/, (letter) => (letter === "A" ? "E" : "A"))],
  ["a shorter one", (url: string) => url.slice(0, -1)],
  ["a foreign task id", (url: string) => url.replace(/task_./, "task_!")],
  ["an unknown provider", (url: string) => url.replace("modelark", "constructor")],
])("%s is 404, and starts no object", async (_, change) => {
  const [task, other] = [await begin(seedance), await begin(seedance)];
  const woken = vi.spyOn(TaskObject.prototype, "calledBack");
  const answer = await announce({ ...last(task.calls), url: change(last(task.calls).url, last(other.calls).url) });
  expect(answer).toMatchObject({ status: 404, body: { error: { code: "not_found", type: "invalid_request" } } });
  expect(woken).not.toHaveBeenCalled();
});

test("other methods are 405", async () => {
  const { calls } = await begin(seedance);
  expect((await call(last(calls).url)).status).toBe(405);
});

const signing = makers.slice(0, 2);
const withHeader = (one: Call, name: RegExp, value: string): Call => ({
  ...one,
  headers: Object.fromEntries(Object.entries(one.headers).map(([key, old]) => [key, name.test(key) ? value : old])),
});
test.each(
  signing.flatMap(
    ([provider, routes]) =>
      [
        [provider, "no signature", routes, (one: Call) => ({ ...one, headers: {} })],
        [provider, "another body", routes, (one: Call) => ({ ...one, body: one.body.replace("{", '{"more":1,') })],
        [provider, "another signature", routes, (one: Call) => withHeader(one, /signature/, `v1,${"0".repeat(125)}`)],
        [provider, "a signature of zeros", routes, (one: Call) => withHeader(one, /signature/, "0".repeat(128))],
        [provider, "another id", routes, (one: Call) => withHeader(one, /-id$/, "another")],
        [provider, "another time", routes, (one: Call) => withHeader(one, /timestamp/, String(Math.floor(Date.now() / 1000) - 1))],
        [provider, "no time", routes, (one: Call) => withHeader(one, /timestamp/, "")],
      ] as const,
  ),
)("a call of %s with %s is 401 and causes no poll", async (_, __, routes, change) => {
  const task = await begin(routes);
  const answer = await announce(change(last(task.calls)));
  expect(answer).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } });
  expect(await task.polls()).toBe(0);
  expect((await announce(last(task.calls))).status).toBe(200);
  expect((await task.data()).status).toBe("completed");
});

test.each(signing)("a signed call of %s that is replayed after five minutes is 401", async (_, routes) => {
  const task = await begin(routes, "[running]");
  vi.setSystemTime(Date.now() + 301_000);
  expect((await announce(last(task.calls))).status).toBe(401);
});

test("fal's keys are fetched without the operator's key, once for many calls", async () => {
  const [one, other] = [await begin(makers[0]![1]), await begin(makers[0]![1])];
  const fetched = vi.spyOn(globalThis, "fetch");
  vi.setSystemTime(Date.now() + 601_000);
  for (const { prompt } of [one, other]) await announce(last(await callsOfMakers(prompt)));
  const asked = fetched.mock.calls.filter(([url]) => (url as string).endsWith("/jwks.json"));
  expect(asked).toHaveLength(1);
  expect(new Headers(asked[0]![1]?.headers).has("authorization")).toBe(false);
});

test.each(signing)(
  "while the keys of %s cannot be read, its calls are 503, and polls continue; what is no key is not kept",
  async (_, routes) => {
    const task = await begin(routes);
    vi.setSystemTime(Date.now() + 601_000);
    const { fetch } = globalThis;
    for (const [text, status] of [
      ["", 502],
      ["<p>Sign in</p>", 200],
      ["{}", 200],
      ["null", 200],
      ['{"keys":[{}],"key":5}', 200],
    ] as const) {
      vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) =>
        /\/jwks\.json$|\/default\/secret$/.test(url as string) ? new Response(text, { status }) : fetch(url, init),
      );
      const answer = await announce(last(await callsOfMakers(task.prompt)));
      expect(answer).toMatchObject({ status: 503, body: { error: { code: "unavailable" } } });
      vi.restoreAllMocks();
    }
    expect((await announce(last(await callsOfMakers(task.prompt)))).status).toBe(200);
    await alarm(task.id);
  },
);

test("fal's list may have keys of another kind: they are passed over", async () => {
  const task = await begin(makers[0]![1]);
  vi.setSystemTime(Date.now() + 601_000);
  const { fetch } = globalThis;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const response = await fetch(url, init);
    if (!(url as string).endsWith("/jwks.json")) return response;
    const { keys } = await response.json<{ keys: object[] }>();
    return Response.json({ keys: [null, { kty: "RSA", n: "AQAB", e: "AQAB" }, { kty: "EC", crv: "P-384", x: "x".repeat(64) }, ...keys] });
  });
  expect((await announce(last(await callsOfMakers(task.prompt)))).status).toBe(200);
});

test("a body larger than any maker's is not read to its end", async () => {
  const task = await begin(seedance);
  const one = { ...last(task.calls), body: "x".repeat(4 * 1024 * 1024 + 1) };
  expect((await announce(one)).status).toBe(503);
  expect(await task.polls()).toBe(0);
});

test("calls after the end, and after the task was deleted, are 200 and change nothing", async () => {
  const task = await begin(seedance);
  await announce(last(task.calls));
  await deliver(task.id);
  const before = await task.data();
  for (let time = 0; time < 3; time++) expect((await announce(last(task.calls))).status).toBe(200);
  await deliver(task.id);
  expect(await task.data()).toEqual(before);
  expect(await readCalls(task.prompt)).toEqual(["start", "poll", "poll", "file"]);
  await call(`/v1/tasks/${task.id}`, { key: task.account.key, method: "DELETE" });
  expect((await announce(last(task.calls))).status).toBe(200);
});

test("a flood of calls causes one poll at once, and further ones at increasing intervals", async () => {
  // Few tests complete tasks on this route: its learned duration is longer than this test.
  const task = await begin(hailuo, "[running]");
  const answers = await Promise.all(Array.from({ length: 100 }, () => announce(last(task.calls))));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(await task.polls()).toBe(1);
  const seen: number[] = [];
  const begun = Date.now();
  for (let second = 0; second < 60; second++) {
    vi.setSystemTime(begun + second * 1000);
    await Promise.all([announce(last(task.calls)), announce(last(task.calls))]);
    const at = await alarmAt(task.id);
    if (at !== null && at <= Date.now()) await alarm(task.id);
    if ((await task.polls()) > seen.length + 1) seen.push(second);
  }
  expect(seen).toEqual([1, 3, 7, 15, 31]);
});

test("a call during a poll is followed by another poll, because the answer may be older than the call", async () => {
  const task = await begin(seedance, "[running 1]");
  const { fetch } = globalThis;
  const seen = { isSent: false, isReleased: false };
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    const answer = await fetch(url, init);
    if (seen.isSent || !(url as string).includes("/contents/generations/tasks/cgt")) return answer;
    seen.isSent = true;
    while (!seen.isReleased) await scheduler.wait(1);
    return answer;
  });
  const first = announce(last(task.calls));
  while (!seen.isSent) await scheduler.wait(1);
  expect((await announce(last(task.calls))).status).toBe(200);
  seen.isReleased = true;
  await first;
  expect(await task.polls()).toBe(1);
  await pass(task.id, 1);
  expect(await task.polls()).toBe(2);
  await deliver(task.id);
  expect((await task.data()).status).toBe("completed");
});

test("calls at the same time: each isolate collects a few videos itself, and consumers the others", async () => {
  const tasks = [];
  for (let at = 0; at < 6; at++) tasks.push(await begin(seedance));
  const { fetch } = globalThis;
  const seen = { polls: 0 };
  vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    if ((url as string).includes("/contents/generations/tasks/cgt") && ++seen.polls <= 6) while (seen.polls < 6) await scheduler.wait(1);
    return fetch(url, init);
  });
  const sends = spyOn(bindings.queue(), "send").mockClear();
  const answers = await Promise.all(tasks.map(({ calls }) => announce(last(calls))));
  expect(answers.map(({ status }) => status)).toEqual(tasks.map(() => 200));
  expect(sends).toHaveBeenCalledTimes(2);
  for (const { id, data } of tasks) {
    await deliver(id);
    expect((await data()).status).toBe("completed");
  }
});

test("after a call before the start was reported the first poll runs at once", async () => {
  const { account, body } = await submitTo(seedance, path, { model: "vidC-1-0-pro-fast", prompt: unique() });
  const id = body.id as string;
  const stub = openStub(id);
  const work = (await stub.claim())!;
  await stub.calledBack("modelark");
  expect(await stub.report(work.lease, { outcome: "accepted", operation: '{"task":"none"}', pollAfterMs: 60_000, route: 0 })).toBe(true);
  expect((await record(id, account.id)).step).toMatchObject({ do: "poll", at: Date.now() });
});

test("a call of a provider that is no longer the task's changes nothing", async () => {
  const routes = { "vidD-02": [...makers[0]![1]["vidD-02"]!, ...hailuo["vidD-02"]!] };
  const task = await begin(routes, "[fails]");
  await announce(last(task.calls));
  await deliver(task.id);
  const moved = await record(task.id, task.account.id);
  expect(moved).toMatchObject({ route: 1, callsBack: true, step: { do: "poll" } });
  const polls = await task.polls();
  vi.setSystemTime(Date.now() + 5_000);
  expect(
    (await announce(last(await callsOfMakers(task.prompt).then((calls) => calls.filter(({ url }) => url.includes("/fal/")))))).status,
  ).toBe(200);
  expect(await record(task.id, task.account.id)).toEqual(moved);
  expect(await task.polls()).toBe(polls);
});

test("a URL that was signed before the secret was replaced is valid while the old secret is set", async () => {
  const task = await begin(seedance, "", { ASSET_SIGNING_SECRET: "an-older-secret" });
  const one = last(task.calls);
  expect((await announce(one)).status).toBe(404);
  expect((await announce(one, { ASSET_SIGNING_SECRET_OLD: "an-older-secret" })).status).toBe(200);
  expect((await task.data()).status).toBe("completed");
});

test.each([
  ["the operator switched it off", { UPSTREAM_CALLBACKS: "off" }, "https://gateway.example"],
  ["the gateway is reached by http", {}, "http://gateway.example"],
  ["the gateway is on the operator's machine", {}, "https://127.0.0.1"],
  ["the gateway has a private name", {}, "https://gateway.internal"],
])("no maker gets a callback URL if %s: it is polled according to the typical duration", async (_, vars, origin) => {
  for (const [, routes] of makers) {
    const prompt = unique();
    const [model = ""] = Object.keys(routes);
    const { account } = await submitTo(routes, path, { model, prompt: unique(), ...(model === "vidD-02" && { duration: 10 }) });
    const { status, body } = await call(`${origin}${path}`, {
      key: account.key,
      body: model === "vidD-02" ? video(prompt) : { model, prompt },
      vars: { ROUTES: routes },
    });
    expect(status).toBe(200);
    await deliver(body.id, "gateway-dispatch", vars);
    expect(await callsOfMakers(prompt)).toEqual([]);
    const { submission, step } = await record(body.id, account.id);
    expect(step).toEqual({ do: "poll", at: Date.now() + Math.min(30_000, submission.typicalSeconds * 500) });
  }
});

test("an invalid UPSTREAM_CALLBACKS is 500 before anything is reserved", async () => {
  capture();
  const { account } = await submitTo(hailuo, path, video(unique()));
  const before = await readBalance(account);
  const answer = await call(path, { key: account.key, body: video(unique()), vars: { ROUTES: hailuo, UPSTREAM_CALLBACKS: "yes" } });
  expect(answer.status).toBe(500);
  expect(await readBalance(account)).toEqual(before);
});

test("no log line contains the signature of a callback's URL", async () => {
  const task = await begin(seedance);
  const lines = capture();
  await announce(last(task.calls));
  await announce({ ...last(task.calls), url: `${last(task.calls).url}x` });
  expect(lines.join("\n")).toContain("/callbacks/modelark");
  expect(lines.join("\n")).not.toContain(last(task.calls).url.split("/").at(-1));
});
