/** Requests that Replicate's models cannot honour are refused before anything is reserved. */

import { expect, test } from "vitest";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { readCalls, submitTo } from "../support.ts";

holdTime();

const image = "https://images.example/a.png";
const reference = { url: image, role: "reference" };
const first = { url: image, role: "first_frame" };
const last = { url: image, role: "last_frame" };

const cases: [model: string, id: string, fields: object, param: string][] = [
  ["imgA-4", "bytedance/seedream-5-lite", { quality: "hd" }, "quality"],
  ["imgA-4", "someone/painter", { images: [image] }, "images"],
  ["imgA-4", "someone/painter", { quality: "hd" }, "quality"],
  ["imgA-4", "not-a-name", {}, "model"],
  ["imgA-4", "google/veo-3.1", {}, "model"],
  ["imgC-3-pro-image-preview", "google/nano-banana", { quality: "hd" }, "quality"],
  ["vidA-2", "bytedance/seedance-1-pro", { duration: 15 }, "duration"],
  ["vidA-2", "bytedance/seedance-2.0", { metadata: { watermark: true } }, "metadata.watermark"],
  ["vidA-2", "bytedance/seedance-2.0", { url: image, timestamps: "1,3" }, "model"],
  ["vidB-3.1-fast", "google/veo-3.1-fast", { images: [image, image, image] }, "images"],
  ["vidB-3.1-quality", "google/veo-3.1", { images: [image, image, image], size: "9:16" }, "size"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-2.0-fast", { duration: 3 }, "duration"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-2.0-fast", { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro", { image_with_roles: [reference] }, "image_with_roles"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro", { image_with_roles: [last] }, "image_with_roles"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro-fast", { image_with_roles: [first, last] }, "image_with_roles"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro", { images: [image, image] }, "images"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro", { images: [image], size: "9:16" }, "size"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-1-pro", { image_with_roles: [first], size: "1:1" }, "size"],
  ["vidC-1-0-pro-fast", "bytedance/seedance-2.0", { image_with_roles: [first, reference] }, "image_with_roles"],
  ["vidD-02", "minimax/hailuo-02", {}, "duration"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, prompt: "x".repeat(2001) }, "prompt"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, metadata: { resolution: "1080p" } }, "duration"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, metadata: { resolution: "512p" } }, "metadata.resolution"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, size: "9:16" }, "size"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, metadata: { watermark: true } }, "metadata.watermark"],
  ["vidD-02", "minimax/hailuo-02", { duration: 10, metadata: { last_frame_image: image } }, "metadata.last_frame_image"],
  ["vidD-02", "minimax/hailuo-2.3", { duration: 10, metadata: { resolution: "512p" } }, "metadata.resolution"],
  ["vidD-02", "minimax/hailuo-02-fast", { duration: 10, metadata: { resolution: "512p" } }, "metadata.first_frame_image"],
];

test.each(cases)("%s as %s with %j: unsupported %s", async (model, id, fields, param) => {
  const prompt = unique();
  const path = model.startsWith("img") ? "/v1/images/generations" : "/v1/videos/generations";
  const { account, status, body } = await submitTo({ [model]: [{ provider: "replicate", model: id }] }, path, { model, prompt, ...fields });
  expect(status, JSON.stringify(body)).toBe(400);
  expect(body.error).toMatchObject({ code: param === "model" ? "model_not_available" : "unsupported_parameter", param });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(prompt)).toEqual([]);
});
