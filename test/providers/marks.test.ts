/** What a maker has signed (C2PA) is stored and delivered byte for byte, from every adapter and in every file type: a manifest is bound to the file's bytes. Contract 14. */

import "../support/alone.ts";
import { expect, test } from "vitest";
import { call, finish, holdTime, newAccount, submit, unique } from "../support/gateway.ts";
import { deleteModels } from "../support/models.ts";
import { generate, type Routes } from "./support.ts";
import { generateBy } from "./cloudflare/support.ts";
import { put } from "./own/support.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
/** The box of each format that contains the manifest. */
const boxes = { png: "caBX", jpeg: "JP", webp: "C2PA", mp4: "uuid" };
type Type = keyof typeof boxes;

const hex = async (bytes: BufferSource) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();

/** The file as the maker sends it. */
async function signed(type: Type): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch(`http://upstreams.example/__signed/${type === "mp4" ? "video" : "image"}/${type}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(new TextDecoder("latin1").decode(bytes)).toContain(boxes[type]);
  return bytes;
}

/** The file behind the URL, its digest in the header, and in the receipt, are the maker's. */
async function expectUnchanged(type: Type, url: string, key: string, id: string): Promise<void> {
  const bytes = await signed(type);
  const digest = await hex(bytes);
  const { status, headers, body } = await call(url);
  const media = { png: "image/png", jpeg: "image/jpeg", webp: "image/webp", mp4: "video/mp4" }[type];
  expect([status, headers.get("content-type"), await hex(body as ArrayBuffer)]).toEqual([200, media, digest]);
  expect(headers.get("repr-digest")).toBe(`sha-256=:${Uint8Array.fromHex(digest).toBase64()}:`);
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key })).body;
  expect(receipt.files[0]).toMatchObject({ type: media, bytes: bytes.byteLength, sha256: digest, credentials: "maker" });
  const { data } = (await call(`/v1/tasks/${id}`, { key })).body;
  expect([...(data.result.images ?? []), ...(data.result.videos ?? [])]).toEqual([expect.objectContaining({ credentials: "maker" })]);
}

const imageRoutes: [provider: string, model: string, id: string, directive?: string][] = [
  ["openai", "imgB-4o-image", "gpt-image-2.6-sunburst"],
  // With the file's URL in the answer, as other services of this format give it.
  ["openai", "imgB-4o-image", "gpt-image-2.6-sunburst", "[elsewhere]"],
  ["google", "imgC-3-pro-image-preview", "gemini-3-pro-image"],
  ["modelark", "imgA-4", "seedream-4-5-251128"],
  ["fal", "imgA-4", "fal-ai/bytedance/seedream/v4.5"],
  ["replicate", "imgA-4", "bytedance/seedream-4.5"],
  ["xai", "imgB-4o-image", "grok-imagine-image-2.0"],
];

test.each(
  imageRoutes.flatMap(([provider, model, id, directive = ""]) =>
    (["png", "jpeg", "webp"] as const).map((type) => [provider, model, id, type, directive] as const),
  ),
)("%s: an image for %s by %s in %s keeps the maker's manifest %s", async (provider, model, route, type, directive) => {
  const routes: Routes = { [model]: [{ provider, model: route }] };
  const { account, id, data } = await generate(routes, images, { model, prompt: `${unique()} [signed ${type}] ${directive}` });
  expect(data.status).toBe("completed");
  await expectUnchanged(type, data.result.images[0].url[0], account.key, id);
});

const videoRoutes: [provider: string, model: string, id: string, directive?: string][] = [
  ["openai", "vidB-3.1-fast", "video-1"],
  ["google", "vidB-3.1-fast", "veo-3.1-fast-generate-001"],
  ["google", "vidA-2", "gemini-omni-1.2-flash"],
  ["google", "vidA-2", "gemini-omni-1.2-flash", "[inline]"],
  ["modelark", "vidA-2", "dreamina-seedance-2-0-fast-260128"],
  ["fal", "vidA-2", "bytedance/seedance-2.0/fast"],
  ["replicate", "vidA-2", "bytedance/seedance-2.0"],
  ["minimax", "vidD-02", "MiniMax-Hailuo-02"],
  ["minimax", "vidD-02", "MiniMax-H3"],
  ["xai", "vidA-2", "grok-imagine-video"],
  ["xai", "vidC-1-0-pro-quality", "grok-imagine-video-1.5"],
];

const durations: Record<string, number> = { "vidD-02": 10 };

test.each(videoRoutes)("%s: a video for %s by %s keeps the maker's manifest", async (provider, model, route, directive = "") => {
  const routes: Routes = { [model]: [{ provider, model: route }] };
  const { account, id, data } = await generate(routes, videos, {
    model,
    prompt: `${unique()} [signed mp4] ${directive}`,
    duration: durations[model],
  });
  expect(data.status).toBe("completed");
  await expectUnchanged("mp4", data.result.videos[0].url[0], account.key, id);
});

/** Cloudflare answers with a URL, with Base64, or with the file. */
const cloudflareImages = ["bytedance/seedream-4.5", "@cf/black-forest-labs/flux-1-schnell", "@cf/bytedance/stable-diffusion-xl-lightning"];

test.each(["binding", "rest"] as const)("cloudflare by %s: images and videos keep the maker's manifest", async (door) => {
  for (const model of cloudflareImages)
    for (const type of ["png", "jpeg", "webp"] as const) {
      const { account, id, data } = await generateBy(door, [model], images, {
        model: "imgA-4",
        prompt: `${unique()} [signed ${type}]`,
      } as never);
      expect(data.status, `${model} ${type}`).toBe("completed");
      await expectUnchanged(type, data.result.images[0].url[0], account.key, id);
    }
  const made = await generateBy(door, ["bytedance/seedance-2.0"], videos, { model: "vidA-2", prompt: `${unique()} [signed mp4]` } as never);
  expect(made.data.status).toBe("completed");
  await expectUnchanged("mp4", made.data.result.videos[0].url[0], made.account.key, made.id);
});

/** What this model of Cloudflare requires beside the prompt. */
const seedance = { duration: 5, resolution: "480p", aspect_ratio: "16:9", fps: 24, camera_fixed: false, watermark: false };
const ownInputs: [provider: string, kind: "image" | "video", id: string, input?: object][] = [
  ["fal", "image", "fal-ai/bytedance/seedream/v4.5/text-to-image"],
  ["fal", "video", "fal-ai/kling-video/v3/pro/text-to-video"],
  ["replicate", "image", "bytedance/seedream-4.5"],
  ["replicate", "video", "bytedance/seedance-2.0"],
  ["cloudflare", "image", "bytedance/seedream-4.5"],
  ["cloudflare", "image", "@cf/black-forest-labs/flux-1-schnell"],
  ["cloudflare", "image", "@cf/bytedance/stable-diffusion-xl-lightning"],
  ["cloudflare", "video", "bytedance/seedance-2.0", seedance],
];

test.each(ownInputs)(
  "%s: files of kind %s of a model with its own input, by %s, keep the maker's manifest",
  async (provider, kind, route, input = {}) => {
    const fields = Object.entries(input).map(([name, value]) => [name, { type: typeof value }]);
    const properties = { prompt: { type: "string" }, ...Object.fromEntries(fields) };
    const body = { type: "object", properties, required: ["prompt"] };
    await deleteModels();
    const { status } = await put("own", { kind, body, price: { task: 0.2 }, routes: [{ provider, model: route }] });
    expect(status).toBeLessThan(300);
    const types = kind === "video" ? (["mp4"] as const) : (["png", "jpeg", "webp"] as const);
    for (const type of types) {
      const account = await newAccount();
      const id = await submit(account, kind === "video" ? videos : images, {
        model: "own",
        prompt: `${unique()} [signed ${type}]`,
        input,
      });
      const { data } = (await finish(account, id)).body;
      expect(data.status, JSON.stringify(data.error)).toBe("completed");
      const url = kind === "video" ? data.result.videos[0].url[0] : data.result.images[0].url[0];
      await expectUnchanged(type, url, account.key, id);
    }
  },
);

test("a still that is cut from a signed video has no manifest, and says so; the video keeps its own", async () => {
  const routes: Routes = { "vidA-2": [{ provider: "minimax", model: "MiniMax-H3" }] };
  const prompt = `${unique()} [signed mp4]`;
  const { account, id, data } = await generate(routes, videos, { model: "vidA-2", prompt, metadata: { thumbnail: true } });
  expect(data.result.videos[0].credentials).toBe("maker");
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(receipt.files.map(({ type, credentials }: Record<string, string>) => [type, credentials])).toEqual([
    ["video/mp4", "maker"],
    ["image/png", "none"],
  ]);
});

test("a route that converts the maker's file says none", async () => {
  const body = { model: "imgC-3-pro-image-preview", prompt: unique() };
  const { account, id, data } = await generateBy("binding", ["google/nano-banana-pro"], images, body);
  expect(data.status).toBe("completed");
  expect(data.result.images[0].credentials).toBe("none");
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  expect(receipt.files[0].credentials).toBe("none");
});
