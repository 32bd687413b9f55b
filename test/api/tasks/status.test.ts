/** Shared behaviour of the three status queries: waiting, validators, languages, ownership. Contract 2. */

import "../../support/alone.ts";
import { expect, test, vi } from "vitest";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { type Account, call, deliver, finish, holdTime, newAccount, pass, script, submit, unique, newTask } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const submitImage = (account: Account, prompt = unique()) => submit(account, images, { model: "imgA-4", prompt });
const submitVideo = (account: Account, prompt = unique()) => submit(account, videos, { model: "vidA-2", prompt });

async function submitCharacter(account: Account): Promise<string> {
  const source = await submitVideo(account);
  await finish(account, source);
  return submit(account, videos, { model: "vidA-2", from_task: source, timestamps: "0,1" });
}

/** A task of each kind with its paths, and the Retry-After of each in seconds. */
const kinds: [string, (account: Account) => Promise<string>, string[], string][] = [
  ["image", submitImage, ["/v1/tasks/"], "3"],
  ["video", submitVideo, ["/v1/tasks/", "/v1/videos/generations/"], "10"],
  ["character", submitCharacter, ["/v1/tasks/", "/v1/characters_tasks/"], "5"],
];

const readStatus = (body: { status?: string; data?: { status: string } }) => body.data?.status ?? body.status;

/** Makes waits return at once and advances the time by the same amount. */
const stepWaits = () =>
  vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => {
    vi.setSystemTime(Date.now() + ms);
  });

test.each(kinds)("%s: Retry-After and estimated_time are present until the task is final", async (_, start, paths, seconds) => {
  const account = await newAccount();
  const id = await start(account);
  for (const path of paths) {
    const { headers, body } = await call(path + id, { key: account.key });
    expect(headers.get("retry-after")).toBe(seconds);
    expect((body.data ?? body).estimated_time ?? "absent").toEqual(path.includes("characters") ? "absent" : expect.any(Number));
  }
  await finish(account, id);
  for (const path of paths) {
    const { headers, body } = await call(path + id, { key: account.key });
    expect(readStatus(body)).toBe("completed");
    expect(headers.get("retry-after")).toBeNull();
    expect(body.data ?? body).not.toHaveProperty("estimated_time");
  }
});

test("the generic query is complete in each state", async () => {
  const { account, prompt, id } = await newTask({ polls: [{ progress: 40 }] });
  const created_at = Math.floor(Date.now() / 1000);
  const metadata = { kind: "image", prompt, size: "1:1", n: 1, quality: "standard", reserved: 0.03 };
  const data = { id, object: "generation.task", model: "imgA-4", created_at, metadata, cost: { reserved: 0.03 } };
  const look = async () => (await call(`/v1/tasks/${id}`, { key: account.key })).body;
  expect(await look()).toEqual({ code: 200, data: { ...data, status: "queued", progress: 0, estimated_time: 2 } });
  await deliver(id);
  await pass(id, 1);
  expect(await look()).toEqual({ code: 200, data: { ...data, status: "in_progress", progress: 40, estimated_time: 1 } });
  await pass(id, 5);
  expect((await look()).data.estimated_time).toBe(1);
  const failing = unique();
  await script({ match: failing, polls: [{ failed: "provider_error" }] });
  const failed = (await finish(account, await submitImage(account, failing))).body;
  const message = "The generation failed. Nothing was charged.";
  expect(failed).toEqual({
    code: 200,
    message,
    data: {
      id: expect.any(String),
      object: "generation.task",
      model: "imgA-4",
      created_at: expect.any(Number),
      metadata: { ...metadata, prompt: failing },
      cost: { reserved: 0.03, charged: 0, returned: 0.03 },
      status: "failed",
      progress: expect.any(Number),
      error: { code: "provider_error", message },
    },
  });
});

test.each(kinds)("%s: ?wait= answers as soon as the task is final", async (_, start, paths) => {
  const account = await newAccount();
  for (const path of paths) {
    const id = await start(account);
    const wait = vi.spyOn(scheduler, "wait").mockImplementationOnce(async () => {
      await finish(account, id);
    });
    const before = Date.now();
    const { status, body } = await call(`${path}${id}?wait=60`, { key: account.key });
    expect(status).toBe(200);
    expect(readStatus(body)).toBe("completed");
    expect(Date.now() - before).toBeLessThan(30_000);
    wait.mockRestore();
  }
});

test.each([1, 2, 60])("?wait=%i answers after at most that time, with the current state", async (seconds) => {
  const account = await newAccount();
  const id = await submitImage(account);
  const before = Date.now();
  stepWaits();
  const { status, headers, body } = await call(`/v1/tasks/${id}?wait=${seconds}`, { key: account.key });
  expect(status).toBe(200);
  expect(body.data.status).toBe("queued");
  expect(headers.get("retry-after")).toBe("3");
  expect(Date.now() - before).toBe(seconds * 1000);
});

test("?wait= on a final task answers at once", async () => {
  const account = await newAccount();
  const id = await submitImage(account);
  await finish(account, id);
  const wait = vi.spyOn(scheduler, "wait");
  expect((await call(`/v1/tasks/${id}?wait=60`, { key: account.key })).body.data.status).toBe("completed");
  expect(wait).not.toHaveBeenCalled();
});

test.each(["0", "61", "100", "x", "", "-1", "1.5", "1e1"])("?wait=%s is refused with 400", async (value) => {
  const account = await newAccount();
  const id = await submitImage(account);
  const { status, body } = await call(`/v1/tasks/${id}?wait=${value}`, { key: account.key });
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 400, error: { type: "invalid_request", param: "wait" } });
  expect(body.message).toBe(body.error.message);
});

test.each(kinds)("%s: If-None-Match is 304 until the task changes", async (_, start, paths) => {
  const account = await newAccount();
  const id = await start(account);
  for (const path of paths) {
    const etag = (await call(path + id, { key: account.key })).headers.get("etag")!;
    expect(etag).toMatch(/^W\/"[^"]+"$/);
    for (const given of [etag, `"other", ${etag}`]) {
      const same = await call(path + id, { key: account.key, headers: { "if-none-match": given } });
      expect(same.status).toBe(304);
      expect(same.headers.get("etag")).toBe(etag);
      expect(same.body.byteLength).toBe(0);
    }
  }
  const before = (await call(paths.at(-1)! + id, { key: account.key })).headers.get("etag")!;
  await finish(account, id);
  const after = await call(paths.at(-1)! + id, { key: account.key, headers: { "if-none-match": before } });
  expect(after.status).toBe(200);
  expect(after.headers.get("etag")).not.toBe(before);
});

test("an answer in another language has another ETag", async () => {
  const account = await newAccount();
  const id = await submitImage(account);
  const [en, zh] = await Promise.all(["en", "zh"].map((it) => call(`/v1/tasks/${id}?language=${it}`, { key: account.key })));
  expect(en!.headers.get("etag")).not.toBe(zh!.headers.get("etag"));
});

test("a failure's message is in the caller's language, its code is the same", async () => {
  const { account, id } = await newTask({ polls: [{ failed: "content_policy_violation" }] }, { model: "vidA-2" });
  await finish(account, id);
  const letters = { en: /^[ -~]+$/, zh: /[\u4e00-\u9fff]/, ko: /[\uac00-\ud7af]/, ja: /[\u3040-\u30ff]/ };
  for (const [language, isOf] of Object.entries(letters)) {
    const ways = [
      { query: `?language=${language}`, headers: { "accept-language": "en" } },
      { query: "", headers: { "accept-language": `xx, ${language}-XX;q=0.9, en;q=0.1` } },
    ];
    for (const { query, headers } of ways) {
      const generic = await call(`/v1/tasks/${id}${query}`, { key: account.key, headers });
      expect(generic.body.data.error).toEqual({ code: "content_policy_violation", message: expect.stringMatching(isOf) });
      expect(generic.body.message).toBe(generic.body.data.error.message);
      expect(generic.headers.get("content-language")).toBe(language);
      expect(generic.headers.get("vary")?.toLowerCase()).toContain("accept-language");
      const video = await call(`${videos}/${id}${query}`, { key: account.key, headers });
      expect(video.body.error).toEqual({ message: generic.body.message });
    }
  }
  const other = await call(`/v1/tasks/${id}?language=fr`, { key: account.key });
  expect(other.headers.get("content-language")).toBe("en");
});

test("a cached final task is still 404 for other accounts", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const id = await submitVideo(account);
  await finish(account, id);
  const paths = ["/v1/tasks/", `${videos}/`];
  for (const path of paths) await call(path + id, { key: account.key });
  const reads = vi.spyOn(TaskObject.prototype, "read");
  for (const path of paths) {
    expect((await call(path + id, { key: account.key })).status).toBe(200);
    const { status, body } = await call(path + id, { key: stranger.key });
    expect(status).toBe(404);
    expect(body.error).toEqual({ message: "The task does not exist.", type: "task_not_found", code: "task_not_found", param: null });
  }
  expect(reads.mock.calls).toEqual([[stranger.id], [stranger.id]]);
});

test("a task is 404 seven days after it ended, also when it was answered a moment before", async () => {
  const account = await newAccount();
  const id = await submitImage(account);
  const { data } = (await finish(account, id)).body;
  vi.setSystemTime((data.completed_at + 604_800) * 1000 - 1);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(200);
  await pass(id, 1);
  await pass(id, 0);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(404);
});

test.each(["/v1/tasks/x", `${videos}/x`, "/v1/characters_tasks/x"])("%s without a valid key is 401 unauthorized", async (path) => {
  for (const key of [undefined, "sk-unknown"]) {
    const { status, headers, body } = await call(path, key === undefined ? {} : { key });
    expect(status).toBe(401);
    const error = {
      message: "The API key or token is missing or not valid. Send Authorization: Bearer <key>.",
      type: "unauthorized",
      code: "unauthorized",
      param: null,
    };
    expect(body).toEqual(path.startsWith("/v1/tasks") ? { code: 401, message: error.message, error } : { error });
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  }
});
