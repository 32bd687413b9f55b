/** Grok Imagine's images and videos, and Grok's chats, through the whole gateway. */

import { expect, test } from "vitest";
import { call, holdTime, newAccount, readBalance, settledBalance, unique } from "../../support/gateway.ts";
import { asked, generate, readCalls, sent } from "../support.ts";
import { imageUrl, images, inlineImage, routeTo, videos } from "./support.ts";

holdTime();

const image = routeTo("imgB-4o-image", "grok-imagine-image-2.0");
const video = routeTo("vidC-1-0-pro-quality", "grok-imagine-video-1.5");

test("a video is polled until it is done, also by answers without a body, then stored and delivered", async () => {
  const prompt = `${unique()} [bare 1] [running 2] [odd 1]`;
  const { account, data } = await generate(video, videos, { model: "vidC-1-0-pro-quality", prompt, duration: 4, size: "9:16" });
  expect(data.status).toBe("completed");
  const file = await call(data.result.videos[0].url[0]);
  expect(new TextDecoder().decode(file.body.slice(4, 8))).toBe("ftyp");
  expect(await sent(prompt)).toEqual([{ model: "grok-imagine-video-1.5", prompt, duration: 4, aspect_ratio: "9:16", resolution: "720p" }]);
  // The last poll is the collection's.
  expect(await readCalls(prompt)).toEqual(["start", "poll", "poll", "poll", "poll", "poll", "poll", "file"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.24 });
});

test("a first frame sets the ratio, a last frame is sent beside it, references are a list of their own", async () => {
  const [frames, references] = [unique(), unique()];
  const roles = [
    { url: imageUrl, role: "first_frame" },
    { url: inlineImage, role: "last_frame" },
  ];
  const model = "vidC-1-0-pro-quality";
  await generate(video, videos, { model, prompt: frames, image_with_roles: roles, metadata: { resolution: "1080p" } });
  expect(await sent(frames)).toEqual([
    {
      model: "grok-imagine-video-1.5",
      prompt: frames,
      duration: 5,
      resolution: "1080p",
      image: { url: imageUrl },
      last_frame: { url: inlineImage },
    },
  ]);
  await generate(video, videos, { model, prompt: references, images: [imageUrl, inlineImage] });
  expect((await sent(references))[0]).toMatchObject({
    aspect_ratio: "16:9",
    reference_images: [{ url: imageUrl }, { url: inlineImage }],
  });
});

test("several images of a prompt are one call, in 2K for hd", async () => {
  const prompt = unique();
  const { account, data } = await generate(image, images, { model: "imgB-4o-image", prompt, n: 3, size: "3:2", quality: "hd" });
  expect(data.result.images.flatMap(({ url }: { url: string[] }) => url)).toHaveLength(3);
  expect(await sent(prompt)).toEqual([
    { model: "grok-imagine-image-2.0", prompt, n: 3, aspect_ratio: "3:2", resolution: "2k", response_format: "url" },
  ]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.24 });
});

test("an edit makes one image for each call; one image has a field of its own", async () => {
  const [one, two] = [unique(), unique()];
  await generate(image, images, { model: "imgB-4o-image", prompt: one, images: [inlineImage] });
  expect((await sent(one))[0]).toMatchObject({ n: 1, image: { url: inlineImage, type: "image_url" } });
  const { data } = await generate(image, images, { model: "imgB-4o-image", prompt: two, n: 2, images: [imageUrl, inlineImage] });
  expect(data.status).toBe("completed");
  const bodies = await sent(two);
  expect(bodies).toHaveLength(2);
  expect(bodies[1]).toMatchObject({ n: 1, images: [{ url: imageUrl }, { url: inlineImage }] });
});

test("of several images those that pass the check are delivered and paid for", async () => {
  const prompt = `${unique()} [only 1]`;
  const { account, data } = await generate(image, images, { model: "imgB-4o-image", prompt, n: 3 });
  expect(data.result.images.flatMap(({ url }: { url: string[] }) => url)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.04 });
});

const chat = async (content: string, more: object = {}, ...ids: string[]) => {
  const account = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content }], ...more };
  const vars = { ROUTES: routeTo("textA-1", ...(ids.length > 0 ? ids : ["grok-4.6"])) };
  return { account, ...(await call("/v1/chat/completions", { key: account.key, body, vars })) };
};

test.each([false, true])("a chat is charged with its reasoning, which completion_tokens lack; streamed: %s", async (stream) => {
  const prompt = unique();
  const { account, status } = await chat(prompt, { max_tokens: 50, reasoning_effort: "high", stream });
  expect(status).toBe(200);
  expect((await asked(prompt))[0]!.body).toMatchObject({ model: "grok-4.6", max_completion_tokens: 50, reasoning_effort: "high" });
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: (12 * 2 + 13 * 8) / 1e6 });
});

test.each([
  ["grok-4.6", { stop: "." }, "stop"],
  ["grok-4.6", { presence_penalty: 1 }, "presence_penalty"],
  ["grok-4.6", { reasoning_effort: "none" }, "reasoning_effort"],
  ["grok-4.20-0309-reasoning", { reasoning_effort: "low" }, "reasoning_effort"],
])("%s cannot honour %o", async (id, more, param) => {
  const prompt = unique();
  const { status, body } = await chat(prompt, more, id);
  expect([status, body.error]).toMatchObject([400, { code: "unsupported_parameter", param }]);
  expect(await asked(prompt)).toEqual([]);
});

test.each([
  ["[moderated]", 422, "content_policy_violation", 1],
  ["[forbidden]", 422, "content_policy_violation", 1],
  ["[spent]", 500, "internal_error", 2],
  ["[retired]", 500, "internal_error", 2],
  ["[limit]", 503, "unavailable", 2],
])("a chat with %s is %i to the caller, costs nothing, and names neither maker nor team", async (order, expected, code, calls) => {
  const prompt = `${order} ${unique()}`;
  const { account, status, body } = await chat(prompt, {}, "grok-4.6", "grok-4.7");
  expect([status, body.error]).toMatchObject([expected, { code }]);
  expect(JSON.stringify(body)).not.toMatch(/grok|xai|9e0f/i);
  expect(await asked(prompt)).toHaveLength(calls);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
