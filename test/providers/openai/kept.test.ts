/** Base64 images are stored while their answer is read: complete ones are kept, even if the rest breaks off. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { bindings, failOnce } from "../../support/faults.ts";
import { readBalance, call, holdTime, unique } from "../../support/gateway.ts";
import { generate } from "../support.ts";

holdTime();

const images = [1, 2, 3, 4].map((seed) => {
  const bytes = Uint8Array.from({ length: 50_000 }, (_, at) => (at * seed) % 251);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return bytes;
});
const whole = JSON.stringify({ created: 1, data: images.map((bytes) => ({ b64_json: bytes.toBase64() })), output_format: "png" });
const routes = { "imgB-4o-image": [{ provider: "openai", model: "gpt-image-2" }] };

/** The upstream gives this answer once; every other request is refused. */
const answering = (body: () => BodyInit) => {
  let asked = 0;
  vi.spyOn(globalThis, "fetch").mockImplementation(() =>
    Promise.resolve(
      asked++ === 0 ? new Response(body(), { headers: { "content-type": "application/json" } }) : new Response(null, { status: 500 }),
    ),
  );
};

const breakingAfter = (text: string) =>
  new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
    pull: (controller) => controller.error(new Error("broken off")),
  });

const make = () => generate(routes, "/v1/images/generations", { model: "imgB-4o-image", prompt: unique(), n: 4 });
const readPaths = (data: { result: { images: { url: string[] }[] } }) => data.result.images.map(({ url }) => url[0]!);

test("four images are stored byte by byte as received, in their order, and nothing else", async () => {
  answering(() => whole);
  const { id, data } = await make();
  expect(data.status).toBe("completed");
  const files = await Promise.all(readPaths(data).map(async (url) => new Uint8Array((await call(url)).body)));
  expect(files).toEqual(images);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toHaveLength(4);
});

test("an answer that breaks off in its third image gives two, and two are charged", async () => {
  answering(() => breakingAfter(whole.slice(0, 150_000)));
  const { account, data } = await make();
  expect(data.status).toBe("completed");
  expect(readPaths(data)).toHaveLength(2);
  const { reserved, used } = await readBalance(account);
  answering(() => whole);
  const four = await make();
  expect({ reserved, used }).toEqual({ reserved: 0, used: expect.closeTo((await readBalance(four.account)).used / 2, 6) });
});

test("an answer that breaks off in its first image gives none, and costs nothing", async () => {
  answering(() => breakingAfter(whole.slice(0, 30_000)));
  const { account, data } = await make();
  expect(data).toMatchObject({ status: "failed", error: { code: "provider_error" } });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a short failure of R2 loses no image", async () => {
  answering(() => whole);
  failOnce(bindings.bucket(), "put", false, 2);
  const { data } = await make();
  expect(data.status).toBe("completed");
  expect(readPaths(data)).toHaveLength(4);
});

/** An image that is stored in parts. */
const large = Uint8Array.from({ length: 9 * 1024 * 1024 }, (_, at) => at % 251);
large.set(images[0]!.subarray(0, 8));
const answer = JSON.stringify({ created: 1, data: [{ b64_json: large.toBase64() }], output_format: "png" });

test("a short failure of R2 at the beginning or end of an upload loses no image", async () => {
  answering(() => answer);
  const upload = await bindings.upload();
  failOnce(bindings.bucket(), "createMultipartUpload");
  failOnce(upload, "complete");
  failOnce(upload, "complete", true);
  const { data } = await generate(routes, "/v1/images/generations", { model: "imgB-4o-image", prompt: unique() });
  expect(data).toMatchObject({ status: "completed" });
  const { body } = await call(readPaths(data)[0]!);
  expect(new Uint8Array(body).toHex()).toBe(large.toHex());
});

test("a write that R2 refuses because the same key was written less than a second ago loses no image", async () => {
  answering(() => whole);
  const bucket = bindings.bucket();
  const put = bucket["put"]!;
  const writtenAt = new Map<unknown, number>();
  vi.spyOn(bucket, "put").mockImplementation(async function (this: unknown, ...values: unknown[]) {
    const [key] = values;
    const last = writtenAt.get(key);
    const now = performance.now();
    if (last !== undefined && now - last < 1_000) throw new Error("put: Reduce your concurrent request rate for the same object. (10058)");
    writtenAt.set(key, now);
    if (last === undefined && writtenAt.size === 1) throw new Error("put: We encountered an internal error. Please try again. (10001)");
    return put.apply(this, values);
  });
  const { data } = await make();
  expect(data.status).toBe("completed");
  expect(readPaths(data)).toHaveLength(4);
});
