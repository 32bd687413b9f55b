/** Requests that models behind Cloudflare cannot honour are refused before anything is reserved. */

import { expect, test } from "vitest";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { readCalls, submitReferenceAt1080p, submitTo } from "../support.ts";
import { images, inline, videos } from "./support.ts";

holdTime();

type Body = Record<string, unknown>;
const roles = (...all: string[]) => ({ image_with_roles: all.map((role) => ({ url: inline, role })) });
const image = { metadata: { first_frame_image: "https://images.example/a.png" } };

const refused: [string, string, Body, string][] = [
  ["openai/gpt-image-2", "imgB-4o-image", { size: "16:9" }, "size"],
  ["openai/gpt-image-2", "imgB-4o-image", { size: "4:3" }, "size"],
  ["bytedance/seedream-4.0", "imgA-4", { images: [inline] }, "images"],
  ["bytedance/seedream-6", "imgA-4", { quality: "hd" }, "quality"],
  ["bytedance/seedream-5-pro", "imgA-4", { quality: "hd", size: "3:2" }, "quality"],
  ["google/nano-banana-pro", "imgC-3-pro-image-preview", { images: [inline, inline, inline, inline] }, "images"],
  ["@cf/black-forest-labs/flux-1-schnell", "imgA-4", { size: "16:9" }, "size"],
  ["@cf/black-forest-labs/flux-1-schnell", "imgA-4", { quality: "hd" }, "quality"],
  ["@cf/leonardo/lucid-origin", "imgA-4", { images: [inline] }, "images"],
  ["google/veo-3.1", "vidB-3.1-quality", { images: [inline, inline] }, "images"],
  ["google/veo-3.1", "vidC-1-0-pro-quality", { duration: 5 }, "duration"],
  ["google/veo-3.1", "vidC-1-0-pro-quality", { duration: 8, metadata: { resolution: "480p" } }, "metadata.resolution"],
  ["bytedance/seedance-2.0", "vidC-1-0-pro-quality", { duration: 3 }, "duration"],
  ["bytedance/seedance-2.0", "vidA-2", { duration: 15 }, "duration"],
  ["bytedance/seedance-2.0-fast", "vidC-1-0-pro-fast", { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["bytedance/seedance-2.0", "vidC-1-0-pro-quality", { prompt: "x".repeat(2001) }, "prompt"],
  ["bytedance/seedance-2.0", "vidC-1-0-pro-quality", roles("last_frame"), "image_with_roles"],
  ["bytedance/seedance-2.0", "vidC-1-0-pro-quality", roles("first_frame", "reference"), "image_with_roles"],
  ["bytedance/seedance-2.0", "vidC-1-0-pro-quality", { ...roles("first_frame"), size: "9:16" }, "size"],
  ["klingai/kling-v3", "vidA-2-pro", { duration: 25 }, "duration"],
  ["klingai/kling-v3", "vidA-2", { prompt: "x".repeat(2501) }, "prompt"],
  ["klingai/kling-v3", "vidA-2", { images: [inline, inline] }, "images"],
  ["klingai/kling-v3", "vidC-1-0-pro-quality", {}, "metadata.resolution"],
  ["alibaba/wan-3.0", "vidA-2-pro", { duration: 25 }, "duration"],
  ["alibaba/wan-3.0", "vidA-2-pro", { images: [inline] }, "images"],
  ["alibaba/wan-3.0", "vidC-1-0-pro-quality", { size: "21:9" }, "size"],
  ["alibaba/wan-3.0", "vidC-1-0-pro-quality", { prompt: "x".repeat(2501) }, "prompt"],
  ["minimax/hailuo-2.3", "vidD-02", { duration: 5 }, "duration"],
  ["minimax/hailuo-2.3", "vidD-02", { duration: 10, size: "9:16" }, "size"],
  ["minimax/hailuo-2.3", "vidD-02", { duration: 10, metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["minimax/hailuo-2.3", "vidD-02", { duration: 10, metadata: { resolution: "512p" } }, "metadata.resolution"],
  ["minimax/hailuo-2.3", "vidD-02", { duration: 10, metadata: { watermark: true } }, "metadata.watermark"],
  [
    "minimax/hailuo-2.3",
    "vidD-02",
    { duration: 10, metadata: { last_frame_image: "https://a.example/b.png" } },
    "metadata.last_frame_image",
  ],
  ["minimax/h3", "vidD-02", { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["minimax/h3", "vidD-02", { metadata: { prompt_optimizer: true } }, "metadata.prompt_optimizer"],
];

test.each(refused)("%s as %s cannot do %o: %s", async (upstream, model, body, param) => {
  const prompt = unique();
  const routes = { [model]: [{ provider: "cloudflare", model: upstream }] };
  const answer = await submitTo(routes, model.startsWith("img") ? images : videos, { model, prompt, ...body });
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: "unsupported_parameter", param });
  expect(await readBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(prompt)).toEqual([]);
});

test.each([
  ["some/unheard-of", "imgA-4", {}],
  ["@cf/black-forest-labs/flux-2-dev", "imgA-4", {}],
  ["bytedance/seedance-2.0", "vidA-2", { prompt: undefined, url: "https://videos.example/a.mp4", timestamps: "0,2" }],
])("%s is refused as a model for %s %o", async (upstream, model, body) => {
  const routes = { [model]: [{ provider: "cloudflare", model: upstream }] };
  const answer = await submitTo(routes, model.startsWith("img") ? images : videos, { model, prompt: unique(), ...body });
  expect(answer.body.error.code).toBe("model_not_available");
});

test("a character's image is a reference, which Seedance does not combine with 1080p", async () => {
  const [model, prompt] = ["vidC-1-0-pro-quality", unique()];
  const routes = { [model]: [{ provider: "cloudflare", model: "bytedance/seedance-2.0" }] };
  const answer = await submitReferenceAt1080p(routes, videos, model, prompt);
  expect(answer.status).toBe(400);
  expect(answer.body.error).toMatchObject({ code: "unsupported_parameter", param: "metadata.resolution" });
  expect(await readBalance(answer.account)).toMatchObject({ reserved: 0, used: 0 });
  expect(await readCalls(prompt)).toEqual([]);
});

test("with a first frame a video has the image's ratio: 9:16 is not refused then", async () => {
  const routes = { "vidD-02": [{ provider: "cloudflare", model: "minimax/hailuo-2.3" }] };
  const body = { model: "vidD-02", prompt: unique(), duration: 10, size: "9:16", ...image };
  expect((await submitTo(routes, videos, body)).status).toBe(200);
});
