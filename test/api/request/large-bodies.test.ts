/** Bodies with inline images: read as a stream, stored while they are read, deleted when they are refused. */

import "../../support/alone.ts";
import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type Account, readBalance, call, finish, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

const MiB = 1024 * 1024;
const path = "/v1/images/generations";
const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** An image of this size in Base64; only its signature is real. */
function makeImage(bytes: number, start = signature): string {
  const data = new Uint8Array(bytes).fill(7);
  data.set(start);
  return data.toBase64();
}

const dataUri = (base64: string) => `data:image/png;base64,${base64}`;
const body = (images: string[], more: object = {}) => ({ model: "imgB-4o-image", prompt: "a quay", images, ...more });
const inputs = async () => (await env.ASSETS.list({ prefix: "inputs/" })).objects;

async function refused(account: Account, answer: Awaited<ReturnType<typeof call>>, before: number): Promise<void> {
  expect(await inputs()).toHaveLength(before);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect(answer.status).toBe(400);
}

test("five images of 10 MiB each are accepted, kept while the task runs, and deleted when it ends", async () => {
  const account = await newAccount();
  const image = dataUri(makeImage(10 * MiB));
  const { status, body: task } = await call(path, { key: account.key, body: body(Array.from({ length: 5 }, () => image)) });
  expect(status).toBe(200);
  expect(task.metadata.images).toEqual(["inline", "inline", "inline", "inline", "inline"]);
  const stored = (await env.ASSETS.list({ prefix: `inputs/${task.id}/` })).objects;
  expect(stored.map(({ size }) => size)).toEqual(Array.from({ length: 5 }, () => 10 * MiB));
  expect((await finish(account, task.id)).body.data.status).toBe("completed");
  expect((await env.ASSETS.list({ prefix: `inputs/${task.id}/` })).objects).toEqual([]);
});

test.each<[string, () => unknown, string]>([
  ["an image of 10 MiB and a byte", () => body([dataUri(makeImage(10 * MiB + 1))]), "images[0]"],
  ["six images", () => body(Array.from({ length: 6 }, () => dataUri(makeImage(4096)))), "images"],
  ["an image that is none", () => body(["https://pictures.example/1.png", dataUri(makeImage(4096, [1, 2, 3]))]), "images[1]"],
  ["Base64 that is none", () => body([dataUri(`${makeImage(4096)}*`)]), "images[0]"],
  ["bare Base64 where only data URIs may stand", () => body([makeImage(4096)]), "images[0]"],
  ["a good image in a bad body", () => body([dataUri(makeImage(4096))], { n: 9 }), "n"],
])("%s: refused with the field's name, and nothing stays stored", async (_, make, param) => {
  const account = await newAccount();
  const before = (await inputs()).length;
  const answer = await call(path, { key: account.key, body: make() });
  expect(answer.body.error.param).toBe(param);
  await refused(account, answer, before);
});

test("bare Base64 is accepted as a video's reference image", async () => {
  const account = await newAccount();
  const video = { model: "vidC-1-0-pro-fast", prompt: "a quay", image_with_roles: [{ url: makeImage(4096), role: "first_frame" }] };
  const { status, body: task } = await call("/v1/videos/generations", { key: account.key, body: video });
  expect(status).toBe(200);
  expect(task.metadata.image_with_roles).toEqual([{ url: "inline", role: "first_frame" }]);
});

test("if a field appears twice the last one counts, and the images of the first are deleted", async () => {
  const account = await newAccount();
  const [first, second] = [dataUri(makeImage(4096)), dataUri(makeImage(8192))];
  const text = `{"model":"imgB-4o-image","prompt":"a quay","images":["${first}","${first}"],"images":["${second}"]}`;
  const { body: task } = await call(path, { key: account.key, body: text });
  const stored = (await env.ASSETS.list({ prefix: `inputs/${task.id}/` })).objects;
  expect(stored.map(({ size }) => size)).toEqual([8192]);
});

test("a repeat with the same Idempotency-Key stores nothing again; a body with another image is a different body", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": "with-image" };
  const send = (bytes: number) => call(path, { key: account.key, body: body([dataUri(makeImage(bytes))]), headers });
  const first = await send(4096);
  const before = (await inputs()).length;
  const again = await send(4096);
  expect([again.status, again.body.id, again.headers.get("idempotent-replayed")]).toEqual([200, first.body.id, "true"]);
  expect((await send(4097)).status).toBe(409);
  expect(await inputs()).toHaveLength(before);
});

test("a client that disconnects half-way leaves nothing stored", async () => {
  const account = await newAccount();
  const before = (await inputs()).length;
  const text = JSON.stringify(body([dataUri(makeImage(200_000)), dataUri(makeImage(200_000))]));
  const half = new TextEncoder().encode(text.slice(0, 400_000));
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(half);
    },
    pull(controller) {
      controller.error(new Error("gone"));
    },
  });
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const answer = await exports.default
    .fetch(`https://gateway.example${path}`, { method: "POST", headers, body: broken })
    .catch(() => undefined);
  expect(answer?.status ?? 400).toBe(400);
  for (let turn = 0; turn < 500 && (await inputs()).length > before; turn++) await scheduler.wait(2);
  expect(await inputs()).toHaveLength(before);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a body over 72 MiB is 413, as is one whose text without images is over 10 MiB", async () => {
  const account = await newAccount();
  const padded = (bytes: number) => JSON.stringify(body([], { padding: "" })).replace('"padding":""', `"padding":"${"x".repeat(bytes)}"`);
  expect((await call(path, { key: account.key, body: padded(10 * MiB) })).status).toBe(413);
  const length = String(72 * MiB + 1);
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json", "content-length": length };
  const large = new Request(`https://gateway.example${path}`, { method: "POST", headers, body: padded(72 * MiB) });
  expect((await exports.default.fetch(large)).status).toBe(413);
});
