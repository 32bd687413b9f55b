/** MiniMax's errors and refusals over both of its APIs: the task's error, and that the reserved amount is returned. */

import { expect, test, vi } from "vitest";
import { readBalance, call, deliver, finish, holdTime, unique } from "../../support/gateway.ts";
import { expectVideo, firstFrame, plain, through, v1, v2, videos } from "./support.ts";
import { readCalls, countAll, generate, sent, submitTo } from "../support.ts";

holdTime();

const apis = [
  ["v1", v1],
  ["v2", v2],
] as const;
const both = <T extends unknown[]>(...rows: T[]) => apis.flatMap(([api, routes]) => rows.map((row) => [api, ...row, routes] as const));

test.each(
  both(
    ["[moderated]", "content_policy_violation", 1],
    ["[moderated-later]", "content_policy_violation", 1],
    ["[fails]", "provider_error", 1],
    ["[limit]", "provider_error", 6],
    ["[wallet]", "provider_error", 1],
    ["[retired]", "provider_error", 1],
    ["[unavailable]", "provider_error", 6],
    // The outcome of these is unknown: they are not retried.
    ["[broken]", "provider_error", 1],
    ["[drop]", "provider_error", 1],
    ["[poll-forgotten]", "provider_error", 1],
    ["[expired]", "provider_error", 1],
  ),
)("%s, prompt %s: %s after %i submissions, and the money is returned", async (_, order, code, submissions, routes) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await generate(routes, videos, plain(prompt));
  expect(data, JSON.stringify(data)).toMatchObject({ status: "failed", error: { code } });
  expect(await countAll(prompt, "start")).toBe(submissions);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(
  both(
    ["[limit 1]", 2],
    ["[unavailable 1]", 2],
    ["[poll-limit 1]", 1],
    ["[poll-unavailable 1]", 1],
    ["[truncated 1]", 1],
    ["[unknown-length]", 1],
  ),
)("%s, prompt %s: it succeeds, after %i submissions", async (_, order, submissions, routes) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await generate(routes, videos, plain(prompt));
  expect(data.status, JSON.stringify(data)).toBe("completed");
  await expectVideo(data);
  expect(await countAll(prompt, "start")).toBe(submissions);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.5 });
});

test.each(apis)("%s: a broken download is repeated, and the video is not generated again", async (_, routes) => {
  const prompt = `${unique()} [truncated 1]`;
  await generate(routes, videos, plain(prompt));
  const calls = (await readCalls(prompt)).filter((name) => name === "start" || name === "file");
  expect(calls).toEqual(["start", "file", "file"]);
});

test("v1: a video URL that is refused for a while is requested again, a missing one is lost", async () => {
  const late = `${unique()} [retrieve-limit 1]`;
  const done = await generate(v1, videos, plain(late));
  expect(done.data.status, JSON.stringify(done.data)).toBe("completed");
  expect((await readCalls(late)).filter((name) => name === "retrieve" || name === "start")).toEqual(["start", "retrieve", "retrieve"]);
  const gone = `${unique()} [file-gone]`;
  const { account, data } = await generate(v1, videos, plain(gone));
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("an unknown status counts as pending", async () => {
  const prompt = `${unique()} [odd-status 2]`;
  const { data } = await generate(v1, videos, plain(prompt));
  expect(data.status).toBe("completed");
});

test("v2: a task that expired at the upstream is its fault", async () => {
  const { account, data } = await generate(v2, videos, plain(`${unique()} [times-out]`));
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(apis)("%s: an image that it cannot use is the caller's fault, on every route", async (_, routes) => {
  const prompt = `${unique()} [bad-image]`;
  const twice = { "vidD-02": [...routes["vidD-02"]!, ...v2["vidD-02"]!] };
  const { account, data } = await generate(twice, videos, { ...plain(prompt), metadata: { first_frame_image: firstFrame } });
  expect(data).toMatchObject({ status: "failed", error: { code: "invalid_input" } });
  expect(await countAll(prompt, "start")).toBe(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test.each(["[retired 1]", "[limit 2]", "[unavailable 2]", "[fails 1]"])(
  "%s: the next route makes it, with the same reservation",
  async (order) => {
    const prompt = `${unique()} ${order}`;
    const { account, data } = await generate(through("MiniMax-Hailuo-02", "MiniMax-H3"), videos, plain(prompt));
    expect(data.status, JSON.stringify(data)).toBe("completed");
    const made = (await sent(prompt)).map((body) => body.model as string);
    expect(made.slice(-2)).toEqual(["MiniMax-Hailuo-02", "MiniMax-H3"]);
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.5 });
  },
);

test.each([
  ["its limit of connections is a busy maker's", "[connections 2]", 2],
  ["requests that grow too fast are refused for a while", "[growth 2]", 2],
  ["a prompt with too many invisible characters is refused for good", "[invisible 1]", 1],
])("v1: %s, and nothing was accepted", async (_, order, times) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await generate(through("MiniMax-Hailuo-02", "MiniMax-H3"), videos, plain(prompt));
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const made = (await sent(prompt)).map((body) => body.model as string);
  expect(made).toEqual([...Array.from({ length: times }, () => "MiniMax-Hailuo-02"), "MiniMax-H3"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.5 });
});

test.each(["[moderated]", "[drop]", "[broken]"])("%s: the next route is not used", async (order) => {
  const prompt = `${unique()} ${order}`;
  const { data } = await generate(through("MiniMax-Hailuo-02", "MiniMax-H3"), videos, plain(prompt));
  expect(data.status).toBe("failed");
  expect(await countAll(prompt, "start")).toBe(1);
});

test("trap: refusals with HTTP 200 are refusals", async () => {
  const prompt = `${unique()} [limit 1]`;
  const { account, body } = await submitTo(v1, videos, plain(prompt));
  await deliver(body.id as string);
  const { data } = (await call(`/v1/tasks/${body.id}`, { key: account.key })).body;
  expect(data.status).toBe("in_progress");
  expect(await readCalls(prompt)).toEqual(["start"]);
  expect((await finish(account, body.id as string, 40)).body.data.status).toBe("completed");
});

test.each(["[used-up 1]", "[plan-over 1]", "[not-in-plan 1]"])("v1: %s is a refusal too: the next route makes it", async (order) => {
  const prompt = `${unique()} ${order}`;
  const { account, data } = await generate(through("MiniMax-Hailuo-02", "MiniMax-H3"), videos, plain(prompt));
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect(await countAll(prompt, "start")).toBe(2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.5 });
  vi.setSystemTime(Date.now() + 61_000);
});
