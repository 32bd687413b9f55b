/** `Idempotency-Key` on submissions: one task and one charge for a day, whatever is repeated or crashes. Contract 1. */

import { env, exports } from "cloudflare:workers";
import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { sha256Hex } from "../../../src/base/ids.ts";
import { ClaimObject } from "../../../src/tasks/object/claim-object.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { failOnce } from "../../support/faults.ts";
import { type Account, asAdmin, readBalance, call, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const image = (prompt: string = unique()) => ({ model: "imgA-4", prompt });
const withKey = (account: Account, key: string, body: unknown, path = images) =>
  call(path, { key: account.key, body, headers: { "idempotency-key": key } });
const isReplay = ({ headers }: { headers: Headers }) => headers.get("idempotent-replayed");

/** The object that stores the claim of the account's key. */
const findClaim = async (account: Account, key: string) => env.CLAIMS.getByName(await sha256Hex(`${account.id}\n${key}`));
const readTasks = async (account: Account) => (await call("/v1/tasks", { key: account.key })).body.data as { id: string }[];

const conflict = {
  error: {
    message: "This idempotency key was used for another request, or its task was deleted.",
    type: "invalid_request",
    code: "idempotency_conflict",
    param: null,
  },
};

test("the same key and body give the same task, one charge, and the replay header", async () => {
  const account = await newAccount(1);
  const key = unique();
  const body = image();
  const first = await withKey(account, key, body);
  expect(first.status).toBe(200);
  expect(isReplay(first)).toBeNull();
  const second = await withKey(account, key, body);
  expect(second.status).toBe(200);
  expect(isReplay(second)).toBe("true");
  expect(second.body).toEqual(first.body);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
  await finish(account, first.body.id);
  const third = await withKey(account, key, body);
  expect(third.body).toEqual(first.body);
  expect(isReplay(third)).toBe("true");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
  expect(await readTasks(account)).toHaveLength(1);
});

/** A body of unknown length. */
const chunked = async (account: Account, key: string, text: string) => {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json", "idempotency-key": key };
  const request = { method: "POST", headers, body: new Blob([text]).stream() };
  const response = await exports.default.fetch(`https://gateway.example${images}`, request);
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  return { status: response.status, headers: response.headers, body: (await response.json()) as any };
};

test.each([
  ["small", 6_000, ""],
  ["large", 90_000, ""],
  ["small, the repeat large by its white space", 6_000, " ".repeat(70_000)],
])("the same bytes with a length and chunked are the same body: %s", async (_, bytes, space) => {
  const account = await newAccount();
  const data = new Uint8Array(bytes).fill(7);
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const body = { model: "imgB-4o-image", prompt: "a quay", images: [`data:image/png;base64,${data.toBase64()}`] };
  const first = await withKey(account, "once", body);
  expect(first.status).toBe(200);
  const again = await chunked(account, "once", JSON.stringify(body) + space);
  expect([again.status, again.body.id, isReplay(again)]).toEqual([200, first.body.id, "true"]);
  data[100] = 8;
  body.images = [`data:image/png;base64,${data.toBase64()}`];
  expect((await chunked(account, "once", JSON.stringify(body))).status).toBe(409);
  expect(await readTasks(account)).toHaveLength(1);
});

test("bodies are the same if they differ only in field order, white space or nulls", async () => {
  const account = await newAccount();
  const key = unique();
  const prompt = unique();
  const first = await withKey(account, key, { model: "vidA-2", prompt, metadata: { style: "news", watermark: true } }, videos);
  const spelled = `{ "metadata": {"watermark":true,"style":"news"},\n "prompt": ${JSON.stringify(prompt)}, "model":"vidA-2", "size": null }`;
  const second = await withKey(account, key, spelled, videos);
  expect(second.body.id).toBe(first.body.id);
  expect(isReplay(second)).toBe("true");
});

test("another body with the same key is 409 and reserves nothing", async () => {
  const account = await newAccount();
  const key = unique();
  const body = image();
  await withKey(account, key, body);
  const answer = await withKey(account, key, { ...body, n: 2 });
  expect(answer.status).toBe(409);
  expect(answer.body).toEqual(conflict);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03 });
});

test("the same body at another endpoint is 409", async () => {
  const account = await newAccount();
  const source = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  await finish(account, source);
  const key = unique();
  const body = { model: "vidA-2", prompt: unique() };
  await withKey(account, key, body, videos);
  const answer = await withKey(account, key, body, `/v1/videos/${source}/remix`);
  expect(answer.status).toBe(409);
  expect(answer.body).toEqual(conflict);
});

test("keys belong to the account: its other API keys replay, other accounts do not", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const second = (await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } })).body.key as string;
  const key = unique();
  const body = image();
  const first = await withKey(account, key, body);
  const repeat = await withKey({ ...account, key: second }, key, body);
  expect(repeat.body.id).toBe(first.body.id);
  const other = await withKey(stranger, key, body);
  expect(other.status).toBe(200);
  expect(isReplay(other)).toBeNull();
  expect(other.body.id).not.toBe(first.body.id);
});

test("a submission refused because of its body leaves no claim", async () => {
  const account = await newAccount();
  const key = unique();
  expect((await withKey(account, key, { ...image(), n: 9 })).status).toBe(400);
  const answer = await withKey(account, key, image());
  expect(answer.status).toBe(200);
  expect(isReplay(answer)).toBeNull();
});

test("a submission refused because of its price leaves no claim and no alarm", async () => {
  const account = await newAccount(0.01);
  const key = unique();
  const body = image();
  expect((await withKey(account, key, body)).status).toBe(402);
  expect((await withKey(account, key, body)).status).toBe(402);
  expect(await runDurableObjectAlarm(await findClaim(account, key))).toBe(false);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: 1 } });
  const answer = await withKey(account, key, { ...body, n: 2 });
  expect(answer.status).toBe(200);
  expect(isReplay(answer)).toBeNull();
});

test("a refusal by the content policy leaves no claim", async () => {
  const account = await newAccount();
  const key = unique();
  expect((await withKey(account, key, image("sandbox:reject"))).status).toBe(422);
  expect((await withKey(account, key, image())).status).toBe(200);
});

test("ten parallel submissions create one task and one charge", async () => {
  const account = await newAccount();
  const key = unique();
  const body = image();
  const answers = await Promise.all(Array.from({ length: 10 }, () => withKey(account, key, body)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
  expect(answers.filter((answer) => isReplay(answer) !== "true")).toHaveLength(1);
  expect(await readTasks(account)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
});

test("a key has 1 to 255 printable ASCII characters", async () => {
  const account = await newAccount();
  for (const key of ["k", "k".repeat(255), "with spaces, and (signs)"]) expect((await withKey(account, key, image())).status).toBe(200);
  for (const key of ["", "k".repeat(256), "k\tk", "k\u007f", "clé"]) {
    const { status, body } = await withKey(account, key, image());
    expect(status, JSON.stringify(key)).toBe(400);
    expect(body.error).toMatchObject({ type: "invalid_request", code: "invalid_request", param: "Idempotency-Key" });
  }
});

test("after a day the key can be used again", async () => {
  const account = await newAccount();
  const key = unique();
  const body = image();
  const first = await withKey(account, key, body);
  await finish(account, first.body.id);
  const start = Date.now();
  vi.setSystemTime(start + 86_300_000);
  expect((await withKey(account, key, body)).body.id).toBe(first.body.id);
  vi.setSystemTime(start + 86_401_000);
  expect(await runDurableObjectAlarm(await findClaim(account, key))).toBe(true);
  const next = await withKey(account, key, body);
  expect(next.status).toBe(200);
  expect(isReplay(next)).toBeNull();
  expect(next.body.id).not.toBe(first.body.id);
});

test("a remix is replayed although its source expired in the meantime", async () => {
  const account = await newAccount();
  const source = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  const { body: finished } = await finish(account, source);
  vi.setSystemTime((finished.data.expires_at - 60) * 1000);
  const key = unique();
  const body = { model: "vidA-2", prompt: unique() };
  const path = `/v1/videos/${source}/remix`;
  const first = await withKey(account, key, body, path);
  vi.setSystemTime((finished.data.expires_at + 60) * 1000);
  const second = await withKey(account, key, body, path);
  expect(second.body).toEqual(first.body);
  expect((await withKey(account, unique(), body, path)).status).toBe(400);
});

test("after a crash between the claim and the task, the repeat creates the only task", async () => {
  const account = await newAccount();
  const key = unique();
  const body = image();
  failOnce(TaskObject.prototype as never, "create", false, 3);
  expect((await withKey(account, key, body)).status).toBeGreaterThanOrEqual(500);
  const second = await withKey(account, key, body);
  expect(second.status).toBe(200);
  const third = await withKey(account, key, body);
  expect(third.body.id).toBe(second.body.id);
  expect(isReplay(third)).toBe("true");
  expect(await readTasks(account)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
});

test("if the answer is lost after the task was created, the repeat returns that task", async () => {
  const account = await newAccount();
  const key = unique();
  const body = image();
  failOnce(TaskObject.prototype as never, "create", true, 3);
  expect((await withKey(account, key, body)).status).toBeGreaterThanOrEqual(500);
  const second = await withKey(account, key, body);
  expect(second.status).toBe(200);
  expect(isReplay(second)).toBe("true");
  expect(await readTasks(account)).toHaveLength(1);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03, used: 0 });
});

test("an inline image is available to the task that a repeat creates after a crash", async () => {
  const account = await newAccount();
  const body = { ...image(), images: [`data:image/png;base64,${png}`] };
  const key = unique();
  failOnce(TaskObject.prototype as never, "create", false, 3);
  expect((await withKey(account, key, body)).status).toBeGreaterThanOrEqual(500);
  const { body: task } = await withKey(account, key, body);
  expect((await finish(account, task.id)).body.data.status).toBe("completed");
});

test("a key that a batch has used is used for every submission, and the other way round", async () => {
  const account = await newAccount(1);
  const requests = [{ custom_id: "a", endpoint: images, body: image() }];
  const batch = (key: string) => withKey(account, key, { requests }, "/v1/batches");
  const first = await batch("batch first");
  expect(first.status).toBe(201);
  expect(await withKey(account, "batch first", image())).toMatchObject({ status: 409, body: conflict });
  expect((await batch("batch first")).body.id).toBe(first.body.id);

  const single = image();
  const task = await withKey(account, "image first", single);
  expect(await batch("image first")).toMatchObject({ status: 409, body: conflict });
  expect((await withKey(account, "image first", single)).body.id).toBe(task.body.id);
  expect((await call("/v1/batches", { key: account.key })).body.data).toHaveLength(1);

  // The look-up came before the other request: the objects decide.
  vi.spyOn(ClaimObject.prototype, "find").mockResolvedValueOnce(null);
  expect((await batch("image first")).status).toBe(409);
  vi.spyOn(ClaimObject.prototype, "find").mockResolvedValueOnce(null);
  expect((await withKey(account, "batch first", image())).status).toBe(409);

  // A refused batch leaves the key to others.
  expect((await withKey(account, "refused", { requests: [] }, "/v1/batches")).status).toBe(400);
  expect((await withKey(account, "refused", image())).status).toBe(200);
});
