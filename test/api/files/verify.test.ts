/** `GET /v1/verify/{sha256}`: whether a file was made here, for everyone, without a name of anyone. Contract 14. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sha256Hex } from "../../../src/base/ids.ts";
import { expireFingerprints } from "../../../src/operations/expire-fingerprints.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { bindings } from "../../support/faults.ts";
import {
  type Account,
  asAdmin,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  submit,
  unique,
  wakeWallet,
  image,
  newTask,
} from "../../support/gateway.ts";
import { traces } from "../../support/traces.ts";

beforeEach(holdTime);
afterEach(() => void vi.useRealTimers());

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const verify = (sha256: string, vars?: Partial<Env>, address = "192.0.2.1") =>
  call(`/v1/verify/${sha256}`, { headers: { "cf-connecting-ip": address, origin: "https://press.example" }, ...(vars && { vars }) });

/** The SHA-256 of each file in the task's receipt. */
async function fingerprints(account: Account, id: string): Promise<string[]> {
  const { receipt } = (await call(`/v1/tasks/${id}/receipt`, { key: account.key })).body;
  return receipt.files.map(({ sha256 }: { sha256: string }) => sha256);
}

/** A completed task whose entry is in D1. */
async function made(path: string, body: object, account?: Account) {
  const owner = account ?? (await newAccount());
  const id = await complete(owner, path, body);
  const { data } = (await call(`/v1/tasks/${id}`, { key: owner.key })).body;
  const files = await fingerprints(owner, id);
  await wakeWallet(owner);
  return { account: owner, id, data, files };
}

const countRows = () => env.DB.prepare("SELECT count(*) AS n FROM fingerprint").first<number>("n");

test("each file of an image task is known by the SHA-256 of its delivered bytes, to every origin, without a key", async () => {
  const { account, id, data, files } = await made(images, { ...image(), n: 2 });
  expect(files).toHaveLength(2);
  for (const [at, { url }] of data.result.images.entries()) {
    const bytes = (await call(url[0])).body as ArrayBuffer;
    expect(await sha256Hex(new Uint8Array(bytes))).toBe(files[at]);
    const { status, headers, body } = await verify(files[at]!);
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, "*"]);
    expect(body).toEqual({
      object: "verification",
      sha256: files[at],
      kind: "image",
      type: "image/png",
      made_at: data.completed_at,
      credentials: "none",
      ai_generated: true,
    });
    for (const secret of [account.id, account.keyId, id, data.model, data.metadata.prompt])
      expect(JSON.stringify(body)).not.toContain(secret);
  }
  expect((await verify(files[0]!.toUpperCase())).body.sha256).toBe(files[0]);
});

test("a video, its thumbnail and its remix are known; a character's image is not, because it is part of the caller's video", async () => {
  const { account, id, files } = await made(videos, { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true } });
  expect((await Promise.all(files.map((file) => verify(file)))).map(({ body }) => [body.kind, body.type])).toEqual([
    ["video", "video/mp4"],
    ["video", "image/png"],
  ]);
  const remix = await made(`/v1/videos/${id}/remix`, { model: "vidA-2", prompt: unique() }, account);
  expect((await verify(remix.files[0]!)).body).toMatchObject({ kind: "remix", type: "video/mp4" });
  const character = await made(videos, { model: "vidA-2", from_task: id, timestamps: "0,1" }, account);
  expect(character.files).toHaveLength(1);
  expect((await verify(character.files[0]!)).status).toBe(404);
});

test("another file is 404, and another text than a SHA-256 names the rule", async () => {
  const { status, headers, body } = await verify("ab".repeat(32));
  expect([status, body.error.code, headers.get("access-control-allow-origin")]).toEqual([404, "not_made_here", "*"]);
  for (const text of ["ab", "ab".repeat(33), "g".repeat(64), "%20"]) {
    const refused = await verify(text);
    expect([refused.status, refused.body.error.code, refused.body.error.param], text).toEqual([400, "invalid_request", "sha256"]);
  }
  expect((await call(`/v1/verify/${"ab".repeat(32)}`, { method: "OPTIONS" })).status).toBe(204);
  const wrong = await call(`/v1/verify/${"ab".repeat(32)}`, { body: {} });
  expect([wrong.status, wrong.headers.get("access-control-allow-origin")]).toEqual([405, "*"]);
});

test("a failed task, and a file that nobody got, leave no fingerprint", async () => {
  const account = await newAccount();
  const before = await countRows();
  const id = await submit(account, images, image());
  await call(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  await wakeWallet(account);
  expect(await countRows()).toBe(before);
});

test("a settlement that is repeated, and a write whose answer was lost, keep one row for each file", async () => {
  const account = await newAccount();
  const before = (await countRows())!;
  const id = await submit(account, images, image());
  await deliver(id);
  const batch = bindings.database().batch as (...values: unknown[]) => Promise<unknown>;
  const lost = vi.spyOn(bindings.database(), "batch" as never).mockImplementation(async function (this: unknown, ...values: unknown[]) {
    await batch.apply(this, values);
    throw new Error("the answer was lost");
  });
  await pass(id, 2);
  await deliver(id);
  await wakeWallet(account);
  lost.mockRestore();
  await wakeWallet(account);
  await new Objects(env).settleAgain(account.id, id);
  await wakeWallet(account);
  expect((await finish(account, id)).body.data.status).toBe("completed");
  expect(await countRows()).toBe(before + 1);
  expect((await verify((await fingerprints(account, id))[0]!)).status).toBe(200);
});

test("a database that was restored gets the fingerprints of the last two days again", async () => {
  const { account, files } = await made(images, image());
  await env.DB.batch([
    env.DB.prepare("DELETE FROM fingerprint"),
    env.DB.prepare("DELETE FROM entry WHERE account_id = ?1").bind(account.id),
    env.DB.prepare("DELETE FROM spending WHERE account_id = ?1").bind(account.id),
    env.DB.prepare("UPDATE wallet SET used = 0, granted = 0, revision = 0 WHERE id IN (?1, ?2)").bind(account.id, account.keyId),
  ]);
  expect((await verify(files[0]!)).status).toBe(404);
  await complete(account, images, image());
  await wakeWallet(account);
  await wakeWallet(account);
  expect((await verify(files[0]!)).status).toBe(200);
});

test("a fingerprint stays when its task, or its account, is erased: it names neither", async () => {
  const { account, id, files } = await made(images, image());
  expect((await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  await asAdmin(`/accounts/${account.id}`, { method: "DELETE" });
  expect((await verify(files[0]!)).status).toBe(200);
});

test("with PROOF_DAYS = 0 nothing is kept", async () => {
  const account = await newAccount();
  const before = await countRows();
  const id = await submit(account, images, image());
  await deliver(id);
  await pass(id, 2);
  const settings = env as { PROOF_DAYS?: string };
  settings.PROOF_DAYS = "0";
  try {
    await deliver(id);
    await wakeWallet(account);
  } finally {
    delete settings.PROOF_DAYS;
  }
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).body.data.status).toBe("completed");
  expect(await countRows()).toBe(before);
});

test("a wrong PROOF_DAYS holds back no settlement, and the file stays known", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  await pass(id, 2);
  const settings = env as { PROOF_DAYS?: string };
  settings.PROOF_DAYS = "forever";
  try {
    await deliver(id);
    await wakeWallet(account);
  } finally {
    delete settings.PROOF_DAYS;
  }
  const [file] = await fingerprints(account, id);
  expect((await verify(file!)).status).toBe(200);
});

test("the daily job deletes what is older than PROOF_DAYS, in parts, and everything with 0", async () => {
  await env.DB.batch([env.DB.prepare("DELETE FROM fingerprint"), env.DB.prepare("DELETE FROM upkeep WHERE job = 'fingerprints'")]);
  const day = 86_400_000;
  const now = Date.now();
  // More rows than one run looks at: each third one is too old.
  await env.DB.prepare(
    `WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 29999)
     INSERT INTO fingerprint SELECT CAST(printf('%032d', n) AS BLOB), 'image', 'image/png', 'none', ?1 - iif(n % 3 = 0, 401, 399) * ${day} FROM i`,
  )
    .bind(now)
    .run();
  await expireFingerprints(env.DB, 400, now);
  const afterOne = (await countRows())!;
  expect(afterOne).toBeGreaterThan(20_000);
  expect(afterOne).toBeLessThan(30_000);
  await expireFingerprints(env.DB, 400, now);
  expect(await countRows()).toBe(20_000);
  // The pass has ended: the next one begins a day later.
  await expireFingerprints(env.DB, 0, now + day - 1);
  expect(await countRows()).toBe(20_000);
  await expireFingerprints(env.DB, 0, now + day);
  await expireFingerprints(env.DB, 0, now + day);
  expect(await countRows()).toBe(0);
});

test("a stranger's questions cost nothing that lasts, and after too many of them no look-up", async () => {
  const before = await traces();
  const reads = vi.spyOn(bindings.statement(), "first");
  const allowed = { count: 0 };
  const vars = { RATE_LIMITS: "on", VERIFICATIONS: { limit: async () => ({ success: ++allowed.count <= 3 }) } };
  const answers = [];
  for (let at = 0; at < 6; at++) answers.push(await verify(`${at}`.repeat(64), vars, "192.0.2.7"));
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 429, 429, 429]);
  expect(answers[5]!.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(reads).toHaveBeenCalledTimes(3);
  expect(await traces()).toEqual(before);
});

test("an answer may be cached for an hour, a miss may not, and no log line has the digest that was asked for", async () => {
  const { files } = await made(images, image());
  const lines: string[] = [];
  for (const name of ["log", "error", "warn"] as const)
    vi.spyOn(console, name).mockImplementation((...words: unknown[]) => void lines.push(words.map(String).join(" ")));
  const known = await verify(files[0]!, { REQUEST_LOG: "on" });
  expect([known.status, known.headers.get("cache-control")]).toEqual([200, "public, max-age=3600"]);
  const unknown = await sha256Hex(unique());
  const missing = await verify(unknown, { REQUEST_LOG: "on" });
  expect([missing.status, missing.headers.get("cache-control")]).toEqual([404, "no-store"]);
  expect(lines.length).toBeGreaterThan(0);
  for (const digest of [unknown, files[0]!]) expect(lines.filter((line) => line.includes(digest))).toEqual([]);
});
