/** Delivery to a real S3 server that verifies signatures and checks rights (moto), by a whole gateway. Contract 17. */

import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { pythonWith } from "../../scripts/support/python.ts";
import { newAccount } from "./account.ts";

const folder = fileURLToPath(new URL("python", import.meta.url));
const started = z.object({
  endpoint: z.string(),
  region: z.string(),
  access_key_id: z.string(),
  secret_access_key: z.string(),
  presigned: z.string(),
});
const file = z.union([z.object({ type: z.string(), bytes: z.number(), sha256: z.string() }), z.object({ error: z.string() })]);
const delivery = z.object({
  status: z.enum(["pending", "delivered", "failed"]),
  files: z.array(z.object({ name: z.string(), url: z.string(), sha256: z.string() })),
  attempts: z.array(z.object({ status: z.optional(z.number()), code: z.optional(z.string()), fault: z.optional(z.string()) })),
});
const task = z.object({
  data: z.object({
    id: z.string(),
    result: z.optional(z.looseObject({ images: z.optional(z.array(z.object({ url: z.array(z.string()) }))) })),
    delivery: z.optional(delivery),
  }),
});

let server: ChildProcess;
let bucket: z.output<typeof started>;
let lines: AsyncIterator<string>;

beforeAll(async () => {
  const python = await pythonWith(join(folder, ".venvs", "s3-server"), join(folder, "requirements", "s3-server.txt"), { isComplete: true });
  server = spawn(python, [join(folder, "s3_server.py")], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env["PATH"], PYTHONWARNINGS: "ignore" },
  });
  lines = createInterface({ input: server.stdout! })[Symbol.asyncIterator]();
  bucket = started.parse(JSON.parse((await lines.next()).value as string));
}, 600_000);

afterAll(async () => {
  server.stdin?.end();
  await once(server, "exit");
});

/** What the server has under a key. */
async function readStored(key: string): Promise<z.output<typeof file>> {
  server.stdin!.write(`${key}\n`);
  return file.parse(JSON.parse((await lines.next()).value as string));
}

/** A caller of the gateway. */
async function newCaller() {
  const { apiKey } = await newAccount();
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(process.env["GATEWAY_URL"] + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    expect(response.status, JSON.stringify(answer)).toBe(200);
    return answer;
  };
  const { presigned: _, ...credentials } = bucket;
  const setDestination = (change: object = {}) =>
    ask("PUT", "/v1/destinations/shop", { kind: "s3", bucket: "media", ...credentials, ...change });
  /** Submits, and returns the task once its delivery has had an outcome. */
  const deliver = async (path: string, body: object) => {
    const { id } = z.object({ id: z.string() }).parse(await ask("POST", path, body));
    for (;;) {
      const { data } = task.parse(await ask("GET", `/v1/tasks/${id}?wait=30`));
      if (data.delivery && data.delivery.attempts.length > 0) return { ...data, delivery: data.delivery };
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  return { ask, setDestination, deliver };
}

const image = { model: "imgA-4", prompt: "A lighthouse at dawn" };

test("images and a video arrive with their bytes, types and digests", async () => {
  const { setDestination, deliver } = await newCaller();
  await setDestination({ prefix: "made/" });
  const images = await deliver("/v1/images/generations", {
    ...image,
    n: 2,
    deliver_to: { destination: "shop", prefix: "day=2026-11-23/" },
  });
  expect(images.delivery, JSON.stringify(images.delivery)).toMatchObject({ status: "delivered", attempts: [{ status: 200 }] });
  for (const [at, { name, url, sha256 }] of images.delivery.files.entries()) {
    const key = `made/day=2026-11-23/${images.id}/${name}`;
    expect(url).toBe(`${bucket.endpoint}/media/${key.replaceAll("=", "%3D")}`);
    const own = Buffer.from(await (await fetch(images.result!.images![at]!.url[0]!)).arrayBuffer());
    expect(createHash("sha256").update(own).digest("hex")).toBe(sha256);
    expect(await readStored(key)).toEqual({ type: "image/png", bytes: own.byteLength, sha256 });
  }
  expect(images.delivery.files).toHaveLength(2);
  const video = await deliver("/v1/videos/generations", { model: "vidA-2", prompt: "Waves", deliver_to: { destination: "shop" } });
  expect(video.delivery).toMatchObject({ status: "delivered", files: [{ name: "video.mp4" }] });
  expect(await readStored(`made/${video.id}/video.mp4`)).toMatchObject({ type: "video/mp4", sha256: video.delivery.files[0]!.sha256 });
});

// The server cannot verify signatures in queries, so it takes the next request without one.
test("a presigned URL takes its file", async () => {
  const { deliver } = await newCaller();
  server.stdin!.write("unlock\n");
  expect((await lines.next()).value).toBe("unlocked");
  const { delivery: outcome } = await deliver("/v1/images/generations", { ...image, deliver_to: { url: bucket.presigned } });
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ status: "delivered", files: [{ url: `${bucket.endpoint}/media/cover.png` }] });
  expect(await readStored("cover.png")).toMatchObject({ type: "image/png", sha256: outcome.files[0]!.sha256 });
});

test("a destination is tested", async () => {
  const { ask, setDestination } = await newCaller();
  await setDestination();
  expect(await ask("POST", "/v1/destinations/shop/test", {})).toMatchObject({
    ok: true,
    write: { status: 200 },
    read: { status: 200 },
    delete: { status: 204 },
  });
});

test.each([
  [{ secret_access_key: "wrong" }, { status: 403, code: "SignatureDoesNotMatch" }],
  [{ access_key_id: "AKIAWRONG" }, { status: 403, code: "InvalidAccessKeyId" }],
  [{ bucket: "other-media" }, { status: 404, code: "NoSuchBucket" }],
])("with %j nothing is delivered, and the server's reason is shown", async (change, attempt) => {
  const { ask, setDestination, deliver } = await newCaller();
  await setDestination(change);
  const { id, delivery: outcome } = await deliver("/v1/images/generations", { ...image, deliver_to: { destination: "shop" } });
  expect(outcome).toMatchObject({ status: "pending", files: [], attempts: [attempt] });
  expect(await readStored(`${id}/1.png`)).toEqual({ error: "NoSuchKey" });
  expect(await ask("POST", "/v1/destinations/shop/test", {})).toMatchObject({ ok: false, write: attempt });
});
