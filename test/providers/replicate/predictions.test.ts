/** Replicate from submission to asset: the request for each public model, and the caller's result. */

import { expect, test, vi } from "vitest";
import { readBalance, call, deliver, finish, holdTime, unique } from "../../support/gateway.ts";
import { asked, readCalls as allCallsOf, capture, generate, routesTo, sent, submitTo } from "../support.ts";
import { pixel as png } from "../../media/images.ts";

holdTime();

const imagePath = "/v1/images/generations";
const videoPath = "/v1/videos/generations";
const image = "https://images.example/a.png";
const other = "https://images.example/b.png";
const to = (model: string, ...ids: string[]) => routesTo("replicate", model, ...ids);

/** Without reads of the list of predictions, which other code may make in the meantime. */
const readCalls = async (match: string) => (await allCallsOf(match)).filter((name) => name !== "list");
const toBytes = async (url: string) => new Uint8Array((await call(url)).body as ArrayBuffer);
const readInputs = async (match: string) => (await sent(match)).map((body) => body.input as object);

type Case = [model: string, id: string, fields: object, input: object];

const imageCases: Case[] = [
  ["imgA-4", "bytedance/seedream-4.5", { size: "16:9" }, { size: "2K", aspect_ratio: "16:9" }],
  ["imgA-4", "bytedance/seedream-4", { quality: "hd", images: [image] }, { size: "4K", aspect_ratio: "1:1", image_input: [image] }],
  ["imgB-4o-image", "openai/gpt-image-2", { size: "3:2" }, { aspect_ratio: "3:2", quality: "medium" }],
  ["imgB-4o-image", "openai/gpt-image-2", { size: "4:3" }, { aspect_ratio: "4:3", quality: "medium" }],
  ["imgB-4o-image", "openai/gpt-image-2", { size: "3:4" }, { aspect_ratio: "3:4", quality: "medium" }],
  [
    "imgB-4o-image",
    "openai/gpt-image-2",
    { quality: "hd", images: [image, other] },
    { aspect_ratio: "1:1", quality: "high", input_images: [image, other] },
  ],
  ["imgC-3-pro-image-preview", "google/nano-banana-pro", {}, { aspect_ratio: "1:1", resolution: "1K" }],
  [
    "imgC-3-pro-image-preview",
    "google/nano-banana-pro",
    { size: "2:3", quality: "hd", images: [image] },
    { aspect_ratio: "2:3", resolution: "2K", image_input: [image] },
  ],
  ["imgC-3-pro-image-preview", "google/nano-banana", { size: "4:3" }, { aspect_ratio: "4:3" }],
  ["imgA-4", "someone/painter", { size: "3:4" }, { aspect_ratio: "3:4" }],
];

test.each(imageCases)("%s as %s with %j makes an image", async (model, id, fields, input) => {
  const prompt = `${unique()} [queued 1] [running 1]`;
  const { account, data } = await generate(to(model, id), imagePath, { model, prompt, ...fields });
  expect(data.status, JSON.stringify(data)).toBe("completed");
  expect([...(await toBytes(data.result.images[0].url[0])).subarray(1, 4)]).toEqual([...new TextEncoder().encode("PNG")]);
  expect((await asked(prompt))[0]!.body).toEqual({ model: id, input: { prompt, ...input } });
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "poll", "poll", "file"]);
  expect((await readBalance(account)).used).toBeGreaterThan(0);
});

const hailuoDefaults = { duration: 10, resolution: "768p" };
const videoCases: Case[] = [
  ["vidB-3.1-fast", "google/veo-3.1-fast", { size: "9:16" }, { duration: 8, aspect_ratio: "9:16" }],
  ["vidB-3.1-quality", "google/veo-3.1", { images: [image] }, { duration: 8, aspect_ratio: "16:9", image }],
  [
    "vidB-3.1-quality",
    "google/veo-3.1",
    {
      image_with_roles: [
        { url: other, role: "last_frame" },
        { url: image, role: "first_frame" },
      ],
    },
    { duration: 8, aspect_ratio: "16:9", image, last_frame: other },
  ],
  [
    "vidB-3.1-quality",
    "google/veo-3.1",
    { images: [image, other, image] },
    { duration: 8, aspect_ratio: "16:9", reference_images: [image, other, image] },
  ],
  [
    "vidC-1-0-pro-quality",
    "bytedance/seedance-1-pro",
    {
      duration: 12,
      metadata: { resolution: "1080p" },
      image_with_roles: [
        { url: other, role: "last_frame" },
        { url: image, role: "first_frame" },
      ],
    },
    { duration: 12, aspect_ratio: "adaptive", resolution: "1080p", image, last_frame_image: other },
  ],
  [
    "vidC-1-0-pro-fast",
    "bytedance/seedance-2.0-fast",
    { image_with_roles: [{ url: image, role: "reference" }] },
    { duration: 5, aspect_ratio: "16:9", resolution: "720p", reference_images: [image] },
  ],
  [
    "vidC-1-0-pro-fast",
    "bytedance/seedance-2.0",
    { images: [image, other], metadata: { resolution: "480p" } },
    { duration: 5, aspect_ratio: "16:9", resolution: "480p", reference_images: [image, other] },
  ],
  [
    "vidC-1-0-pro-fast",
    "bytedance/seedance-1-pro",
    { images: [image] },
    { duration: 5, aspect_ratio: "adaptive", resolution: "720p", image },
  ],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, metadata: { prompt_optimizer: false } }, { ...hailuoDefaults, prompt_optimizer: false }],
  [
    "vidD-02",
    "minimax/hailuo-02",
    { duration: 10, size: "9:16", metadata: { first_frame_image: image, last_frame_image: other } },
    { ...hailuoDefaults, first_frame_image: image, last_frame_image: other },
  ],
  ["vidD-02", "minimax/hailuo-2.3", { duration: 10, metadata: { prompt_optimizer: true } }, { ...hailuoDefaults, prompt_optimizer: true }],
  [
    "vidD-02",
    "minimax/hailuo-02-fast",
    { duration: 10, metadata: { resolution: "512p", first_frame_image: image } },
    { duration: 10, first_frame_image: image },
  ],
  ["vidA-2", "bytedance/seedance-2.0", { duration: 10 }, { duration: 10, aspect_ratio: "16:9" }],
];

test.each(videoCases)("%s as %s with %j makes a video", async (model, id, fields, input) => {
  const prompt = `${unique()} [running 1]`;
  const { account, data } = await generate(to(model, id), videoPath, { model, prompt, ...fields });
  expect(data.status, JSON.stringify(data)).toBe("completed");
  const video = await toBytes(data.result.videos[0].url[0]);
  expect(new TextDecoder().decode(video.subarray(4, 8))).toBe("ftyp");
  const [sent] = await readInputs(prompt);
  expect(sent).toMatchObject({ ...input, prompt: expect.stringContaining(prompt) });
  expect(Object.keys(sent!).toSorted()).toEqual(["prompt", ...Object.keys(input)].toSorted());
  expect((await readBalance(account)).used).toBeGreaterThan(0);
});

test("a style is added to the prompt; thumbnail and storyboard are ignored", async () => {
  const prompt = unique();
  const metadata = { style: "anime", thumbnail: true, storyboard: true };
  const { data } = await generate(to("vidA-2", "bytedance/seedance-2.0"), videoPath, { model: "vidA-2", prompt, duration: 10, metadata });
  expect(data.status).toBe("completed");
  expect(await readInputs(prompt)).toEqual([{ prompt: `${prompt}\n\nStyle: anime.`, duration: 10, aspect_ratio: "16:9" }]);
});

test("an inline image is sent as a data URI", async () => {
  const prompt = unique();
  const uri = `data:image/png;base64,${png}`;
  const { data } = await generate(to("imgA-4", "bytedance/seedream-4.5"), imagePath, { model: "imgA-4", prompt, images: [uri, image] });
  expect(data.status).toBe("completed");
  expect(await readInputs(prompt)).toMatchObject([{ image_input: [uri, image] }]);
});

test("a character is sent by its image and name where the model takes references, and refused elsewhere", async () => {
  const video = () => Promise.resolve(new Response("....ftypisom", { headers: { "content-type": "video/mp4" } }));
  const real = vi.spyOn(globalThis, "fetch").mockImplementation(video);
  const source = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "0.5,2" };
  const { account, data } = await generate({ "vidA-2": [{ provider: "media", model: "character" }] }, videoPath, source);
  real.mockRestore();
  const [{ username, display_name: name }] = data.result.data.characters;
  const prompt = unique();
  const body = {
    model: "vidA-2",
    prompt: `@${username} dances ${prompt}`,
    duration: 10,
    image_with_roles: [{ url: image, role: "reference" }],
  };
  const ask = (id: string) => call(videoPath, { key: account.key, body, vars: { ROUTES: to("vidA-2", id) } });
  const refused = await ask("bytedance/seedance-1-pro");
  expect(refused.body.error).toMatchObject({ code: "unsupported_parameter", param: "prompt" });
  const { body: made } = await ask("bytedance/seedance-2.0");
  expect((await finish(account, made.id, 20)).body.data.status).toBe("completed");
  expect(await readInputs(prompt)).toMatchObject([
    { prompt: `${name} dances ${prompt}`, reference_images: [image, expect.stringMatching(/^data:image\/png;base64,iVBOR/)] },
  ]);
});

test("three images are three predictions of one task", async () => {
  const prompt = `${unique()} [running 2]`;
  const { account, data } = await generate(to("imgA-4", "bytedance/seedream-4.5"), imagePath, { model: "imgA-4", prompt, n: 3 });
  expect(data.status).toBe("completed");
  expect(data.result.images).toHaveLength(3);
  const calls = await readCalls(prompt);
  expect(calls.filter((name) => name === "start")).toHaveLength(3);
  expect(calls.filter((name) => name === "file")).toHaveLength(3);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.09 });
});

test("three images of gpt-image-2 are one prediction", async () => {
  const prompt = unique();
  const { account, data } = await generate(to("imgB-4o-image", "openai/gpt-image-2"), imagePath, { model: "imgB-4o-image", prompt, n: 3 });
  expect(data.result.images).toHaveLength(3);
  expect(await readInputs(prompt)).toEqual([{ prompt, aspect_ratio: "1:1", quality: "medium", number_of_images: 3 }]);
  expect((await readBalance(account)).reserved).toBe(0);
});

test("if one of three images is refused, two are delivered and charged", async () => {
  const prompt = `${unique()} [moderated-later 1]`;
  const { account, data } = await generate(to("imgA-4", "bytedance/seedream-4.5"), imagePath, { model: "imgA-4", prompt, n: 3 });
  expect(data.status).toBe("completed");
  expect(data.result.images).toHaveLength(2);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.06 });
});

test("cancelling a task cancels its prediction", async () => {
  const prompt = `${unique()} [queued]`;
  const { account, body } = await submitTo(to("vidB-3.1-fast", "google/veo-3.1-fast"), videoPath, { model: "vidB-3.1-fast", prompt });
  await deliver(body.id);
  const cancelled = await call(`/v1/tasks/${body.id}/cancel`, { key: account.key, method: "POST" });
  expect(cancelled.status, JSON.stringify(cancelled.body)).toBe(200);
  expect(await readCalls(prompt)).toEqual(["start", "cancel"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("neither logs nor answers nor records contain the token", async () => {
  const texts = capture();
  for (const order of ["", "[fails]", "[wallet]", "[drop 1]", "[poll-denied 1]"]) {
    const routes = to("imgA-4", "bytedance/seedream-4.5");
    const { data } = await generate(routes, imagePath, { model: "imgA-4", prompt: `${unique()} ${order}` });
    texts.push(JSON.stringify(data));
  }
  vi.restoreAllMocks();
  expect(texts.length).toBeGreaterThan(20);
  expect(texts.filter((text) => text.includes("test-replicate-token"))).toEqual([]);
});

test("the token is not sent to the hosts of outputs", async () => {
  // The emulated file host refuses requests with credentials.
  const prompt = unique();
  const { data } = await generate(to("imgA-4", "bytedance/seedream-4.5"), imagePath, { model: "imgA-4", prompt });
  expect(data.status).toBe("completed");
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "file"]);
});
