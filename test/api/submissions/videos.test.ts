/** Videos in their five modes, from submission to delivery: sections 2.2, 4.3 and 4.6 of the interface. */

import "../../support/alone.ts";
import { expect, test, vi } from "vitest";
import { readVideoFacts } from "../../../src/media/mp4.ts";
import {
  type Account,
  readBalance,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  unique,
  newTask,
} from "../../support/gateway.ts";
import { pixel } from "../../media/images.ts";

holdTime();

const videos = "/v1/videos/generations";
const look = async (account: Account, id: string) => (await call(`${videos}/${id}`, { key: account.key })).body;
const now = () => Math.floor(Date.now() / 1000);
const image = "https://pictures.example/a.png";

const modes: [string, object, object, number][] = [
  ["vidA-2", {}, { duration: 10, size: "16:9", watermark: false }, 1],
  [
    "vidA-2-pro",
    { duration: 25, size: "1:1", images: [image], metadata: { style: "anime", watermark: true, private: true, storyboard: true } },
    { duration: 25, size: "1:1", images: [image], style: "anime", watermark: true, private: true, storyboard: true },
    7.5,
  ],
  ["vidB-3.1-fast", { size: "9:16" }, { duration: 8, size: "9:16" }, 1.2],
  ["vidB-3.1-quality", { images: [image] }, { duration: 8, size: "auto", images: [image] }, 3.2],
  ["vidC-1-0-pro-fast", {}, { duration: 5, size: "16:9", resolution: "720p" }, 0.15],
  [
    "vidC-1-0-pro-quality",
    { duration: 12, size: "21:9", image_with_roles: [{ url: image, role: "first_frame" }], metadata: { resolution: "1080p" } },
    { duration: 12, size: "21:9", image_with_roles: [{ url: image, role: "first_frame" }], resolution: "1080p" },
    1.44,
  ],
  ["vidD-02", {}, { duration: 5, size: "16:9", resolution: "768p" }, 0.25],
  [
    "vidD-02",
    { duration: 10, metadata: { resolution: "512p", first_frame_image: image, prompt_optimizer: true, watermark: false } },
    { duration: 10, size: "auto", resolution: "512p", first_frame_image: image, prompt_optimizer: true, watermark: false },
    0.5,
  ],
];

test.each(modes)("%s with %j is resolved, priced, generated and charged", async (model, fields, parameters, price) => {
  const png = Uint8Array.fromBase64(pixel);
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(png));
  const account = await newAccount();
  const prompt = unique();
  const { status, body } = await call(videos, { key: account.key, body: { model, prompt, ...fields } });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: expect.stringMatching(/^task_[A-Za-z0-9_-]{1,59}$/),
    object: "generation.task",
    model,
    status: "queued",
    progress: 0,
    created_at: now(),
    metadata: { kind: "video", prompt, ...parameters, reserved: price },
  });
  expect(await readBalance(account)).toMatchObject({ reserved: price, used: 0 });
  expect((await finish(account, body.id)).body.data).toMatchObject({ status: "completed", metadata: body.metadata });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: price });
});

test("the video query has exactly its documented fields in each state", async () => {
  const { account, id } = await newTask({ polls: [{ progress: 40 }] }, { model: "vidA-2" });
  const record = { id, object: "video.generation", model: "vidA-2", created_at: now() };
  expect(await look(account, id)).toEqual({ ...record, status: "submitted", progress: 0, estimated_time: 6 });
  await deliver(id);
  await pass(id, 2);
  expect(await look(account, id)).toEqual({ ...record, status: "in_progress", progress: 40, estimated_time: 4 });
  await pass(id, 2);
  await deliver(id);
  const completed_at = now();
  const done = await look(account, id);
  expect(done).toEqual({
    ...record,
    status: "completed",
    progress: 100,
    completed_at,
    expires_at: completed_at + 86_400,
    url: expect.stringMatching(/^https:\/\/gateway\.example\/assets\//),
    duration: expect.any(Number),
    size: expect.stringMatching(/^\d+x\d+$/),
  });
});

test("duration and size are those of the delivered video", async () => {
  const account = await newAccount();
  const id = await submit(account, videos, { model: "vidB-3.1-fast", prompt: unique() });
  await finish(account, id);
  const { url, duration, size } = await look(account, id);
  const file = await call(url);
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toBe("video/mp4");
  const bytes = new Uint8Array(file.body);
  const facts = await readVideoFacts(async (offset, length) => bytes.slice(offset, offset + length), bytes.length);
  expect(size).toBe(`${facts!.width}x${facts!.height}`);
  expect(duration).toBe(Math.round(facts!.seconds));
});

test("a requested thumbnail is delivered, and expires with the video", async () => {
  const account = await newAccount();
  const id = await submit(account, videos, { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true } });
  await finish(account, id);
  const { thumbnail, expires_at } = await look(account, id);
  const file = await call(thumbnail);
  expect(file.status).toBe(200);
  expect(file.headers.get("content-type")).toMatch(/^image\/(png|jpeg)$/);
  expect(new URL(thumbnail).searchParams.get("expires")).toBe(String(expires_at));
  vi.setSystemTime(expires_at * 1000);
  expect((await call(thumbnail)).status).toBe(410);
});

test.each([{}, { metadata: { thumbnail: false } }])("no thumbnail unless requested: %j", async (fields) => {
  const account = await newAccount();
  const id = await submit(account, videos, { model: "vidA-2", prompt: unique(), ...fields });
  const generic = (await finish(account, id)).body.data;
  expect(await look(account, id)).not.toHaveProperty("thumbnail");
  expect(generic.result.videos[0]).not.toHaveProperty("thumbnail");
});

test("the generic query also answers for videos", async () => {
  const account = await newAccount();
  const prompt = unique();
  const id = await submit(account, videos, { model: "vidA-2", prompt, metadata: { thumbnail: true } });
  const created_at = now();
  const { body } = await finish(account, id);
  const { completed_at, expires_at } = body.data;
  const video = await look(account, id);
  expect(expires_at).toBe(completed_at + 86_400);
  expect(body).toEqual({
    code: 200,
    data: {
      id,
      object: "generation.task",
      model: "vidA-2",
      status: "completed",
      progress: 100,
      created_at,
      completed_at,
      expires_at,
      metadata: { kind: "video", prompt, duration: 10, size: "16:9", watermark: false, thumbnail: true, reserved: 1 },
      cost: { reserved: 1, charged: 1, returned: 0 },
      result: {
        videos: [
          { url: [video.url], credentials: "none", thumbnail: video.thumbnail, duration: video.duration, size: video.size, expires_at },
        ],
      },
    },
  });
});

test("another kind on the video path, and a video on the character path, is 404", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const video = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  await finish(account, video);
  const character = await submit(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  for (const path of [`${videos}/${id}`, `${videos}/${character}`, `/v1/characters_tasks/${id}`, `/v1/characters_tasks/${video}`]) {
    const { status, body } = await call(path, { key: account.key });
    expect(status, path).toBe(404);
    expect(body).toEqual({
      error: { message: "The task does not exist.", type: "task_not_found", code: "task_not_found", param: null },
    });
  }
});
