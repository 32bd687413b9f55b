/** `/v1/tasks/{id}/receipt` and `/.well-known/jwks.json`. Contract 10. */

import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { sha256Hex, toObjectId } from "../../../src/base/ids.ts";
import { canonicalJson } from "../../../src/media/canonical-json.ts";
import { publicKeys, signReceipt } from "../../../src/signing/receipts.ts";
import { call, complete, finish, holdTime, newAccount, submit, unique, newTask } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const otherKey = "MC4CAQAwBQYDK2VwBCIEIDbQfrjNZC2upgv9Q2WSx7n1NwwzYzbg4grzUIOaOVbj";
const decode = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const openObject = (taskId: string) => env.TASKS.get(toObjectId(env.TASKS, taskId)!);
const readReceipt = (id: string, key: string) => call(`/v1/tasks/${id}/receipt`, { key });

/** The payload of a JWS, verified with one of these keys. */
async function verified(jws: string, keys: { kid: string; x: string }[]): Promise<unknown> {
  const [header = "", payload = "", signature = ""] = jws.split(".");
  const { alg, kid } = JSON.parse(new TextDecoder().decode(decode(header))) as { alg: string; kid: string };
  expect(alg).toBe("EdDSA");
  const { x } = keys.find((key) => key.kid === kid)!;
  const key = await crypto.subtle.importKey("jwk", { kty: "OKP", crv: "Ed25519", x }, "Ed25519", false, ["verify"]);
  const signed = new TextEncoder().encode(`${header}.${payload}`);
  expect(await crypto.subtle.verify("Ed25519", key, decode(signature), signed)).toBe(true);
  return JSON.parse(new TextDecoder().decode(decode(payload)));
}

test("a completed task's receipt contains the request, the cost and the outcome, and its signature is valid", async () => {
  const account = await newAccount();
  const body = { prompt: unique(), n: 2, model: "imgA-4", size: null, reference: "order 7", odd: { "10": 1, "9": [1.5, "é"] } };
  const id = await complete(account, images, body);
  const { status, body: answer } = await readReceipt(id, account.key);
  expect(status).toBe(200);
  const task = (await call(`/v1/tasks/${id}`, { key: account.key })).body.data;
  const [first, second] = task.result.images.map(({ url }: { url: string[] }) => url[0]);
  const files = await Promise.all(
    [first, second].map(async (url) => {
      const file = new Uint8Array((await call(url)).body);
      const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", file)).toHex();
      return { name: new URL(url).pathname.split("/").at(-1), type: "image/png", bytes: file.length, sha256, credentials: "none" };
    }),
  );
  expect(answer.receipt).toEqual({
    object: "generation.receipt",
    id,
    account: account.id,
    kind: "image",
    model: "imgA-4",
    reference: "order 7",
    status: "completed",
    created_at: task.created_at,
    started_at: expect.any(Number),
    ended_at: task.completed_at,
    request_sha256: await sha256Hex(canonicalJson(body)),
    price: { unit: "USD", version: expect.stringMatching(/^[0-9a-f]{12}$/), amounts: { image: 0.03, image_hd: 0.06 } },
    reserved: task.cost.reserved,
    charged: task.cost.charged,
    returned: task.cost.returned,
    attempts: 1,
    files,
  });
  const { keys } = (await call("/.well-known/jwks.json")).body;
  expect(keys).toHaveLength(1);
  expect(await verified(answer.jws, keys)).toEqual(answer.receipt);
  expect(JSON.stringify(answer)).not.toContain("sandbox");
});

test("a receipt never changes after a rotation of keys, and a retired key verifies it", async () => {
  const account = await newAccount();
  const id = await complete(account, images, { model: "imgA-4", prompt: unique() });
  const { body: first } = await readReceipt(id, account.key);
  const rotated = { ...env, RECEIPT_SIGNING_KEY: otherKey, RECEIPT_SIGNING_KEY_OLD: env.RECEIPT_SIGNING_KEY! };
  await runInDurableObject(openObject(id), (object) => void Object.assign(object, { env: rotated }));
  expect((await readReceipt(id, account.key)).body).toEqual(first);
  const { keys } = (await call("/.well-known/jwks.json", { vars: rotated })).body;
  expect(keys).toHaveLength(2);
  expect(await verified(first.jws, keys.slice(1))).toEqual(first.receipt);
  expect(await verified(await signReceipt({ a: 1 }, rotated), keys.slice(0, 1))).toEqual({ a: 1 });
});

test("two parallel requests get the same receipt", async () => {
  const account = await newAccount();
  const id = await complete(account, images, { model: "imgA-4", prompt: unique() });
  const [one, two] = await Promise.all([readReceipt(id, account.key), readReceipt(id, account.key)]);
  expect(one.status).toBe(200);
  expect(one.body).toEqual(two.body);
});

test("keys may be JWKs, retired keys may be public ones, and any white space separates them", async () => {
  const [key] = await publicKeys(env);
  const { publicKey, privateKey } = (await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"])) as CryptoKeyPair;
  const [jwk, retired] = await Promise.all([privateKey, publicKey].map((one) => crypto.subtle.exportKey("jwk", one)));
  const { d: _d, ...publicOnly } = jwk as JsonWebKey;
  expect(publicOnly.x).toBe((retired as JsonWebKey).x);
  const old = `${JSON.stringify(publicOnly, null, 1)}\n${otherKey} `;
  const keys = await publicKeys({ ...env, RECEIPT_SIGNING_KEY_OLD: old });
  expect(keys.map(({ x }) => x)).toEqual([key!.x, publicOnly.x, (await publicKeys({ ...env, RECEIPT_SIGNING_KEY: otherKey }))[0]!.x]);
  expect(await verified(await signReceipt({ b: 2 }, { ...env, RECEIPT_SIGNING_KEY: JSON.stringify(jwk) }), keys)).toEqual({ b: 2 });
  // The private part is not shown.
  expect(JSON.stringify((await call("/.well-known/jwks.json", { vars: { RECEIPT_SIGNING_KEY: JSON.stringify(jwk) } })).body)).not.toContain(
    (jwk as JsonWebKey).d,
  );
});

test.each(["nonsense", "{}", btoa("no key at all")])("an invalid key is an error that does not contain it: %s", async (text) => {
  const answer = await call("/.well-known/jwks.json", { vars: { RECEIPT_SIGNING_KEY: text } });
  expect(answer.status).toBe(500);
  await expect(publicKeys({ ...env, RECEIPT_SIGNING_KEY: text })).rejects.toThrow(
    /^the variable RECEIPT_SIGNING_KEY must be an Ed25519 key/,
  );
});

test("a failed task's receipt has no files, and the number of routes that were tried", async () => {
  const { account, id } = await newTask({ polls: [{ failed: "provider_error" }] }, { model: "vidA-2" });
  expect((await finish(account, id)).body.data.status).toBe("failed");
  expect((await readReceipt(id, account.key)).body.receipt).toMatchObject({
    status: "failed",
    charged: 0,
    reserved: 1,
    returned: 1,
    files: [],
    attempts: 1,
  });
  const unasked = await submit(account, images, { model: "imgA-4", prompt: unique() });
  await call(`/v1/tasks/${unasked}/cancel`, { key: account.key, method: "POST" });
  expect((await readReceipt(unasked, account.key)).body.receipt).toMatchObject({ status: "failed", started_at: null, attempts: 0 });
});

test("the digest of a body with large inline images includes their text as it was sent", async () => {
  const account = await newAccount();
  const png = (bytes: number) => {
    const data = new Uint8Array(bytes).fill(7);
    data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    return data.toBase64();
  };
  const lines = png(300_000).replaceAll(/.{76}/g, "$&\n");
  const body = { prompt: unique(), model: "vidA-2", images: [`data:image/png;base64,${png(100_000)}`, lines], note: null };
  const id = await complete(account, "/v1/videos/generations", body);
  expect((await readReceipt(id, account.key)).body.receipt.request_sha256).toBe(await sha256Hex(canonicalJson(body)));
});

test("a body whose images arrive in canonical order is hashed while it is read, without reading them back", async () => {
  const account = await newAccount();
  const png = new Uint8Array(100_000).fill(7);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const unread = { put: env.ASSETS.put.bind(env.ASSETS), delete: env.ASSETS.delete.bind(env.ASSETS) } as unknown as R2Bucket;
  const body = { prompt: unique(), model: "imgA-4", images: [`data:image/png;base64,${png.toBase64()}`] };
  const { status, body: task } = await call(images, { key: account.key, body, vars: { ASSETS: unread } });
  expect(status).toBe(200);
  await finish(account, task.id);
  expect((await readReceipt(task.id, account.key)).body.receipt.request_sha256).toBe(await sha256Hex(canonicalJson(body)));
});

test("the receipt of a remix has the digest of its body", async () => {
  const account = await newAccount();
  const source = await complete(account, "/v1/videos/generations", { model: "vidA-2", prompt: unique() });
  const body = { prompt: unique(), model: "vidA-2", size: null };
  const id = await complete(account, `/v1/videos/${source}/remix`, body);
  expect((await readReceipt(id, account.key)).body.receipt).toMatchObject({
    kind: "remix",
    request_sha256: await sha256Hex(canonicalJson(body)),
  });
});

test("an open task, another account's task and an unknown task have no receipt", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const id = await submit(account, images, { model: "imgA-4", prompt: unique() });
  const open = await readReceipt(id, account.key);
  expect(open.status).toBe(409);
  expect(open.body.error).toMatchObject({ code: "task_not_final", type: "invalid_request" });
  await finish(account, id);
  expect((await readReceipt(id, other.key)).status).toBe(404);
  expect((await readReceipt(`task_${"A".repeat(43)}`, account.key)).status).toBe(404);
  expect((await call(`/v1/tasks/${id}/receipt`)).status).toBe(401);
  expect((await call(`/v1/tasks/${id}/receipt`, { key: account.key, method: "DELETE" })).headers.get("allow")).toBe("GET, HEAD");
});

test("a deleted task has no receipt any more", async () => {
  const account = await newAccount();
  const id = await complete(account, images, { model: "imgA-4", prompt: unique() });
  expect((await readReceipt(id, account.key)).status).toBe(200);
  expect((await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  expect((await readReceipt(id, account.key)).status).toBe(404);
});

test("a task that is deleted while its receipt is signed has none, and none stays stored", async () => {
  const account = await newAccount();
  const id = await complete(account, images, { model: "imgA-4", prompt: unique() });
  const sign = crypto.subtle.sign.bind(crypto.subtle);
  const deleted: number[] = [];
  vi.spyOn(crypto.subtle, "sign").mockImplementation(async (algorithm, key, data) => {
    if (algorithm === "Ed25519") deleted.push((await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" })).status);
    return sign(algorithm, key, data);
  });
  expect((await readReceipt(id, account.key)).status).toBe(404);
  expect(deleted).toEqual([204]);
  expect(await runInDurableObject(openObject(id), (_, { storage }) => storage.kv.get("receipt"))).toBeUndefined();
});
