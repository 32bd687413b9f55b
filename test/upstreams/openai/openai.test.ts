/** The emulated OpenAI with OpenAI's own client: the client's requests are accepted, and it parses the answers. */

import OpenAI, { APIError, AuthenticationError, toFile } from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { videoBytes, image } from "../files.ts";
import { listen } from "../listen.ts";

let server: Awaited<ReturnType<typeof listen>>;
let client: OpenAI;

beforeAll(async () => {
  server = await listen();
  client = new OpenAI({ baseURL: `${server.origin}/openai/v1`, apiKey: "test-openai-key", maxRetries: 1 });
});
afterAll(() => server.close());

const messages = [{ role: "user" as const, content: "hi" }];

test("chat, whole and streamed", async () => {
  const whole = await client.chat.completions.create({ model: "gpt-5.5", messages, max_completion_tokens: 9 });
  expect(whole.choices.map(({ message }) => message.content)).toEqual(["Good morning."]);
  const stream = await client.chat.completions.create({
    model: "gpt-5.5",
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "";
  let total = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    total = chunk.usage?.total_tokens ?? total;
  }
  expect([text, total]).toEqual(["Good morning.", 15]);
});

test("images, from a prompt and from an image", async () => {
  const made = await client.images.generate({ model: "gpt-image-2", prompt: "a quay", n: 2, size: "1360x1024", quality: "high" });
  const bytes = Buffer.from(image());
  expect(made.data!.map(({ b64_json }) => Buffer.from(b64_json!, "base64").equals(bytes))).toEqual([true, true]);
  const source = await toFile(bytes, "a.png", { type: "image/png" });
  const edited = await client.images.edit({ model: "gpt-image-2", prompt: "at night", image: source });
  expect(edited.data).toHaveLength(1);
});

test("videos: made, polled, fetched, remixed, listed", async () => {
  const made = await client.videos.create({ model: "sora-2", prompt: "[running 1] a quay", seconds: "8", size: "1280x720" });
  expect(made).toMatchObject({ object: "video", status: "queued", seconds: "8", error: null });
  expect(await client.videos.retrieve(made.id)).toMatchObject({ status: "in_progress", progress: 42 });
  expect(await client.videos.retrieve(made.id)).toMatchObject({ status: "completed", progress: 100 });
  const content = await client.videos.downloadContent(made.id);
  expect(Buffer.from(await content.arrayBuffer()).equals(Buffer.from(videoBytes()))).toBe(true);
  const thumbnail = await client.videos.downloadContent(made.id, { variant: "thumbnail" });
  expect(thumbnail.headers.get("content-type")).toBe("image/webp");
  const remix = await client.videos.remix(made.id, { prompt: "at night" });
  expect(remix.remixed_from_video_id).toBe(made.id);
  const ids = [];
  for await (const video of client.videos.list({ limit: 10 })) ids.push(video.id);
  expect(ids).toEqual(expect.arrayContaining([made.id, remix.id]));
  await expect(client.videos.create({ model: "sora-2", prompt: "a quay", seconds: "10" as "12" })).rejects.toMatchObject({
    status: 400,
    param: "seconds",
  });
});

test("characters: created from a clip, retrieved, used in a video", async () => {
  const clip = await toFile(Buffer.from(videoBytes()), "mossy.mp4", { type: "video/mp4" });
  const made = await client.videos.createCharacter({ name: "Mossy", video: clip });
  expect(made).toEqual({ id: expect.stringMatching(/^char_/), name: "Mossy", created_at: expect.any(Number) });
  expect(await client.videos.getCharacter(made.id!)).toEqual(made);
  // Sent with the client's generic request, because it has no types for this: its `create` sends forms, the maker's guide uses JSON.
  const video = { model: "sora-2", prompt: "Mossy on a quay", seconds: "8", size: "1280x720" };
  const withCharacters = (...ids: string[]) => client.post("/videos", { body: { ...video, characters: ids.map((id) => ({ id })) } });
  expect(await withCharacters(made.id!)).toMatchObject({ object: "video", status: "queued" });
  const refused = { status: 400, param: "characters" };
  await expect(withCharacters("char_of_somebody_else")).rejects.toMatchObject(refused);
  await expect(withCharacters(made.id!, made.id!, made.id!)).rejects.toMatchObject(refused);
  const image = await toFile(Buffer.from("no video"), "mossy.png", { type: "image/png" });
  await expect(client.videos.createCharacter({ name: "Mossy", video: image })).rejects.toMatchObject({ status: 400, param: "video" });
  await expect(client.videos.createCharacter({ name: "", video: clip })).rejects.toMatchObject({ status: 400, param: "name" });
});

test("the client parses the errors, and retries where it may", async () => {
  const blocked = client.images.generate({ model: "gpt-image-2", prompt: "[moderated]" });
  await expect(blocked).rejects.toMatchObject({ status: 400, code: "moderation_blocked", type: "image_generation_user_error" });
  await expect(blocked).rejects.toBeInstanceOf(APIError);
  await expect(client.images.generate({ model: "gpt-image-1", prompt: "a quay" })).rejects.toMatchObject({
    status: 404,
    code: "model_not_found",
  });
  const stranger = new OpenAI({ baseURL: client.baseURL, apiKey: "wrong" });
  await expect(stranger.chat.completions.create({ model: "gpt-5.5", messages })).rejects.toBeInstanceOf(AuthenticationError);
  const limited = await client.images.generate({ model: "gpt-image-2", prompt: `[limit 1] ${crypto.randomUUID()}` });
  expect(limited.data).toHaveLength(1);
});
