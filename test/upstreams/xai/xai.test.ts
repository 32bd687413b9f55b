/** The emulated xAI refuses what the real one refuses. */

import { expect, test } from "vitest";
import { providerKeys } from "../keys.ts";
import { xai } from "./index.ts";

const ask = async (path: string, body: object, key = providerKeys.XAI_API_KEY) => {
  const init = { method: "POST", headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) };
  const response = await xai.fetch(new Request(`https://api.x.ai${path}`, init));
  return { status: response.status, body: (await response.json()) as { error?: string; request_id?: string } };
};
const [images, edits, videos] = ["/v1/images/generations", "/v1/images/edits", "/v1/videos/generations"];
const image = { model: "grok-imagine-image-2.0", prompt: "a pier" };
const video = { model: "grok-imagine-video-1.5", prompt: "a pier" };
const url = { url: "https://images.example/a.png" };

test("valid requests are accepted", async () => {
  expect(await ask(images, { ...image, n: 2, resolution: "2k" })).toMatchObject({ status: 200 });
  expect(await ask(edits, { ...image, images: [url, url] })).toMatchObject({ status: 200 });
  expect(await ask(videos, video)).toMatchObject({ status: 200, body: { request_id: expect.any(String) } });
});

test.each([
  ["an unknown field", images, { ...image, size: "1024x1024" }, 422],
  ["an unknown model", images, { ...image, model: "grok-2-image" }, 404],
  ["2K of the first model", images, { ...image, model: "grok-imagine-image", resolution: "2k" }, 422],
  ["an edit without an image", edits, image, 400],
  ["an image that is generated from one", images, { ...image, image: url }, 400],
  ["six images", edits, { ...image, images: Array.from({ length: 6 }, () => url) }, 400],
  ["16 seconds", videos, { ...video, duration: 16 }, 400],
  ["21:9", videos, { ...video, aspect_ratio: "21:9" }, 422],
  ["a last frame alone", videos, { ...video, last_frame: url }, 400],
  ["references beside a frame", videos, { ...video, image: url, reference_images: [url] }, 400],
])("refused: %s", async (_, path, body, status) => {
  expect(await ask(path, body)).toMatchObject({ status, body: { error: expect.any(String) } });
});

test("a wrong key is refused with 400", async () => {
  expect(await ask(images, image, "wrong")).toMatchObject({ status: 400, body: { error: expect.stringContaining("Incorrect API key") } });
});
