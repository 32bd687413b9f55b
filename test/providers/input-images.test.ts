/** Callers' images sent to the makers, tested on the adapters: a request that was not sent completely was not accepted. */

import { expect, test, vi } from "vitest";
import { cloudflare } from "../../src/providers/cloudflare/index.ts";
import { fal } from "../../src/providers/fal/index.ts";
import { minimax } from "../../src/providers/minimax/index.ts";
import { modelark } from "../../src/providers/modelark/index.ts";
import { type InputImage, type Job, ProviderError } from "../../src/providers/provider.ts";
import { keep } from "./support.ts";

const job = (images: InputImage[], more: Partial<Job> = {}): Job => ({
  kind: "image",
  model: "seedream-4-5-251128",
  prompt: "a pier",
  n: 1,
  size: "1:1",
  pixels: [1024, 1024],
  quality: "standard",
  key: "task_1",
  images,
  characters: [],
  keep,
  ...more,
});

/** An image that can be read this many times, and then fails. */
function inputImage(times = Infinity, size = 100_000): InputImage & { reads: number } {
  const image = {
    role: "reference" as const,
    reads: 0,
    read: async <T>(use: (image: { bytes: Uint8Array<ArrayBuffer>; type: string }) => Promise<T>) => {
      if (++image.reads > times) throw new ProviderError("busy", "too many images are being read");
      return use({ bytes: new Uint8Array(size).fill(image.reads), type: "image/png" });
    },
  };
  return image;
}

/** The upstream reads a request to its end and gives this answer. */
const answering = (answer: object) =>
  vi.spyOn(globalThis, "fetch").mockImplementation(async (_, init) => {
    await new Response(init?.body as ReadableStream).arrayBuffer();
    return Response.json(answer);
  });

const readFault = (start: Promise<unknown>) => start.then(() => undefined).catch((error: unknown) => error);

test("modelark: an image that fails while it is sent means that nothing was submitted", async () => {
  answering({ data: [{ url: "https://files.example/1" }] });
  const provider = modelark({ key: "key" });
  const fault = await readFault(provider.start(job([inputImage(), inputImage(1)]), AbortSignal.timeout(5_000)));
  expect(fault).toMatchObject({ name: "ProviderError", nothingAccepted: true, retryable: true });
});

test("modelark: images arrive complete, in chunks", async () => {
  const sent = answering({ data: [{ url: "https://files.example/1" }] });
  let body = "";
  sent.mockImplementation(async (_, init) => {
    body = await new Response(init?.body as ReadableStream).text();
    return Response.json({ data: [{ url: "https://files.example/1" }] });
  });
  await modelark({ key: "key" }).start(job([inputImage()]), AbortSignal.timeout(5_000));
  const { image } = JSON.parse(body) as { image: string[] };
  expect(image).toEqual([`data:image/png;base64,${new Uint8Array(100_000).fill(2).toBase64()}`]);
});

const video = { kind: "video", model: "MiniMax-H3", duration: 10, size: "16:9" } as const;

test.each([
  ["fal", fal({ key: "key" }), { model: "fal-ai/bytedance/seedream/v4" }],
  ["minimax", minimax({ key: "key", base: "https://api.minimax.io" }), video],
  ["modelark", modelark({ key: "key" }), {}],
])("%s: images are read while they are sent, because together they do not fit into memory", async (_, provider, more) => {
  const images = [inputImage(), inputImage(), inputImage(), inputImage()];
  const reads = () => images.reduce((sum, image) => sum + image.reads, 0);
  let before = 0;
  let body = "";
  vi.spyOn(globalThis, "fetch").mockImplementation(async (_url, init) => {
    await scheduler.wait(10);
    before = reads();
    body = await new Response(init?.body as ReadableStream).text();
    return Response.json({ data: [{ url: "https://files.example/1" }], task_id: "1", request_id: "1" });
  });
  await provider.start(job(images, more), AbortSignal.timeout(5_000));
  expect(reads() - before).toBeGreaterThanOrEqual(3);
  expect(body.split("data:image/png;base64,")).toHaveLength(5);
  expect(() => JSON.parse(body) as unknown).not.toThrow();
});

test("cloudflare: more images than a call may contain are refused before anything is sent", async () => {
  const run = vi.fn(() => Promise.reject(new Error("Serialized RPC arguments or return values are limited to 32MiB")));
  const provider = cloudflare({ AI: { run, models: run } })!;
  const large = () => inputImage(Infinity, 9 * 1024 * 1024);
  const request = job([large(), large(), large()], { model: "openai/gpt-image-2" });
  const fault = await readFault(provider.start(request, AbortSignal.timeout(5_000)));
  expect(fault).toMatchObject({ name: "ProviderError", nothingAccepted: true });
  expect(run).not.toHaveBeenCalled();
});
