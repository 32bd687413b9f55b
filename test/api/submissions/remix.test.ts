/** Remixes of an earlier video: section 4.4 of the interface, and which sources are accepted. */

import { expect, test, vi } from "vitest";
import {
  type Account,
  readBalance,
  call,
  finish,
  holdTime,
  newAccount,
  script,
  submit,
  unique,
  upstreamCalls,
} from "../../support/gateway.ts";

holdTime();

const videos = "/v1/videos/generations";
const getRemix = (id: string) => `/v1/videos/${id}/remix`;
const change = (more: object = {}) => ({ model: "vidA-2", prompt: unique(), ...more });

async function makeVideo(account: Account, more: object = {}): Promise<string> {
  const id = await submit(account, videos, { model: "vidA-2", prompt: unique(), ...more });
  await finish(account, id);
  return id;
}

const refused = { status: 400, body: { error: { type: "invalid_request", code: "invalid_request", param: "video_id" } } };
const unknown = {
  status: 404,
  body: { error: { type: "task_not_found", code: "task_not_found", param: "video_id" } },
};

test("a remix is a separate task that names its source, and completes as a video", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const body = change({ size: "9:16", duration: 15 });
  const answer = await call(getRemix(source), { key: account.key, body });
  expect(answer.status).toBe(200);
  const created_at = Math.floor(Date.now() / 1000);
  const metadata = { kind: "remix", prompt: body.prompt, size: "9:16", duration: 15, reserved: 1.5, source_task: source };
  expect(answer.body).toEqual({
    id: expect.stringMatching(/^task_/),
    object: "generation.task",
    model: "vidA-2",
    status: "queued",
    progress: 0,
    created_at,
    metadata,
  });
  expect(answer.body.id).not.toBe(source);
  expect(await readBalance(account)).toMatchObject({ reserved: 1.5, used: 1 });
  const generic = (await finish(account, answer.body.id)).body.data;
  expect(generic).toMatchObject({ status: "completed", metadata, result: { videos: [{ url: [expect.any(String)] }] } });
  const done = (await call(`${videos}/${answer.body.id}`, { key: account.key })).body;
  expect(done).toMatchObject({ object: "video.generation", status: "completed", url: generic.result.videos[0].url[0] });
  expect((await call(done.url)).headers.get("content-type")).toBe("video/mp4");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 2.5 });
});

test("its defaults are its model's: vidA-2 10 seconds, vidA-2-pro 15", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  for (const [model, duration, reserved] of [
    ["vidA-2", 10, 1],
    ["vidA-2-pro", 15, 4.5],
  ] as const) {
    const { body } = await call(getRemix(source), { key: account.key, body: change({ model }) });
    expect(body.metadata).toMatchObject({ size: "16:9", duration, reserved });
  }
});

test("a remix can be remixed", async () => {
  const account = await newAccount();
  const first = await submit(account, getRemix(await makeVideo(account)), change());
  await finish(account, first);
  const second = await submit(account, getRemix(first), change());
  expect((await finish(account, second)).body.data).toMatchObject({ status: "completed", metadata: { source_task: first } });
});

test("a video of another model is accepted as the source", async () => {
  const account = await newAccount();
  const source = await submit(account, videos, { model: "vidB-3.1-fast", prompt: unique() });
  await finish(account, source);
  expect((await call(getRemix(source), { key: account.key, body: change() })).status).toBe(200);
});

test("an unknown, forged or foreign source is 404 and reserves nothing", async () => {
  const account = await newAccount();
  const foreign = await makeVideo(await newAccount());
  const forged = `task_${"A".repeat(43)}`;
  for (const id of [foreign, "task_unknown", forged, "x"])
    expect(await call(getRemix(id), { key: account.key, body: change() })).toMatchObject(unknown);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a source that is not a video is refused", async () => {
  const account = await newAccount();
  const image = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const character = await submit(account, videos, { model: "vidA-2", from_task: await makeVideo(account), timestamps: "0,1" });
  for (const id of [image, character]) {
    await finish(account, id);
    expect(await call(getRemix(id), { key: account.key, body: change() })).toMatchObject(refused);
  }
});

test("a source that has not completed, or has failed, is refused", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "provider_error" }] });
  const running = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  const failed = await submit(account, videos, { model: "vidA-2", prompt });
  await finish(account, failed);
  for (const id of [running, failed]) expect(await call(getRemix(id), { key: account.key, body: change() })).toMatchObject(refused);
});

test("a source with private: true is refused, one with private: false is not", async () => {
  const account = await newAccount();
  const hidden = await makeVideo(account, { metadata: { private: true } });
  const open = await makeVideo(account, { metadata: { private: false } });
  const body = change();
  const answer = await call(getRemix(hidden), { key: account.key, body });
  expect(answer).toMatchObject(refused);
  expect(answer.body.error.message).toContain("private");
  expect(await upstreamCalls(body.prompt)).toEqual([]);
  expect((await call(getRemix(open), { key: account.key, body: change() })).status).toBe(200);
});

test("an expired source is refused from the second at which it expires", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const { expires_at } = (await call(`${videos}/${source}`, { key: account.key })).body;
  vi.setSystemTime(expires_at * 1000 - 1);
  expect((await call(getRemix(source), { key: account.key, body: change() })).status).toBe(200);
  vi.setSystemTime(expires_at * 1000);
  expect(await call(getRemix(source), { key: account.key, body: change() })).toMatchObject(refused);
});

test("if the source expires before the remix starts, the remix fails as invalid_input or is made from the stored file", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const { expires_at } = (await call(`${videos}/${source}`, { key: account.key })).body;
  vi.setSystemTime(expires_at * 1000 - 1);
  const id = await submit(account, getRemix(source), change());
  vi.setSystemTime(expires_at * 1000 + 1000);
  const { data } = (await finish(account, id)).body;
  expect(data.error?.code ?? data.status).toMatch(/^(completed|invalid_input)$/);
  expect((await readBalance(account)).reserved).toBe(0);
});

test("a model that cannot remix is refused, and the error lists those that can", async () => {
  const account = await newAccount();
  const source = await makeVideo(account);
  const { status, body } = await call(getRemix(source), { key: account.key, body: change({ model: "vidB-3.1-fast" }) });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({
    type: "invalid_request",
    code: "model_not_found",
    param: "model",
    details: [{ param: "model", allowed: ["vidA-2", "vidA-2-pro"] }],
  });
});
