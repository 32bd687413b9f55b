/** Delivery: a completed task's files are sent to its caller's bucket, repeatedly until they arrive or are about to be deleted. Contract 17. */

import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { accessKeyId, buckets, hurryAttempts, type Mode, origin, secretAccessKey, setDestination } from "../../support/bucket.ts";
import { openStub } from "../../support/faults.ts";
import {
  type Account,
  alarm,
  alarmAt,
  call,
  complete,
  finish,
  holdTime,
  newAccount,
  pass,
  readBalance,
  script,
  submit,
  unique,
  wakeWallet,
  image,
} from "../../support/gateway.ts";
import { callBack, findCallback, ok, readSecret, verified } from "../../support/receiver.ts";
import type { Task } from "../../../src/tasks/record.ts";
import { WalletObject } from "../../../src/wallet/object.ts";

holdTime();

const images = "/v1/images/generations";
const hook = "https://hooks.example.com/done";
const toShop = (more: object = {}) => image({ deliver_to: { destination: "shop" }, ...more });

const readData = async (account: Account, id: string) => (await call(`/v1/tasks/${id}`, { key: account.key })).body.data;
const readDelivery = async (account: Account, id: string) => (await readData(account, id)).delivery;
const download = async (url: string) => new Uint8Array((await call(url)).body as ArrayBuffer);
const toHex = async (bytes: Uint8Array<ArrayBuffer>) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();

async function withShop(change: object = {}, quota = 100): Promise<Account> {
  const account = await newAccount(quota);
  const set = await setDestination(account, change);
  expect(set.status, JSON.stringify(set.body)).toBe(200);
  return account;
}

/** A completed task whose first attempt of delivery is over. */
async function delivered(account: Account, body: object, path = images): Promise<string> {
  const id = await complete(account, path, body);
  await alarm(id);
  return id;
}

test("every file of a completed task arrives under the destination's prefix, the task's prefix and its id", async () => {
  const account = await withShop({ prefix: "made!/" });
  const { at } = buckets([origin]);
  const id = await submit(account, images, image({ n: 2, deliver_to: { destination: "shop", prefix: "day=2026-11-23/" } }));
  expect(await readDelivery(account, id)).toEqual({ status: "pending", files: [], attempts: [] });
  await finish(account, id);
  await alarm(id);
  const data = await readData(account, id);
  const { objects } = at[origin]!;
  const keys = [1, 2].map((n) => `made!/day=2026-11-23/${id}/${n}.png`);
  expect([...objects.keys()]).toEqual(keys);
  for (const [index, key] of keys.entries()) {
    const own = await download(data.result.images[index].url[0]);
    expect(objects.get(key)).toEqual({ bytes: own, type: "image/png" });
    expect(data.delivery.files[index]).toEqual({
      name: `${index + 1}.png`,
      url: `${origin}/media/${key.replaceAll("=", "%3D").replaceAll("!", "%21")}`,
      sha256: await toHex(own),
    });
  }
  expect(data.delivery).toMatchObject({ status: "delivered", attempts: [{ at: Math.floor(Date.now() / 1000), status: 200 }] });
  expect(data.delivery).not.toHaveProperty("next_attempt_at");
  expect(at[origin]!.requests).toEqual(keys.flatMap((key) => [`PUT ${key}`, `HEAD ${key}`]));
});

test("Google Cloud Storage gets the signed digest and no header about checksums, which it does not know", async () => {
  const google = "https://storage.googleapis.com";
  const account = await withShop({ endpoint: google, region: "auto" });
  const { at } = buckets([google]);
  at[google]!.mode = "google";
  const id = await delivered(account, toShop());
  const { delivery, result } = await readData(account, id);
  expect(delivery).toMatchObject({ status: "delivered", files: [{ name: "1.png", url: `${google}/media/${id}/1.png` }] });
  expect(at[google]!.requests).toEqual([`PUT ${id}/1.png`, `HEAD ${id}/1.png`]);
  expect(at[google]!.objects.get(`${id}/1.png`)?.bytes).toEqual(await download(result.images[0].url[0]));
});

test("a video and its thumbnail arrive", async () => {
  const account = await withShop();
  const { at } = buckets([origin]);
  const body = { model: "vidA-2", prompt: unique(), metadata: { thumbnail: true }, deliver_to: { destination: "shop" } };
  const id = await delivered(account, body, "/v1/videos/generations");
  const { delivery, result } = await readData(account, id);
  expect(delivery.status).toBe("delivered");
  expect(delivery.files.map(({ name }: { name: string }) => name)).toEqual(["video.mp4", "thumbnail.png"]);
  expect(at[origin]!.objects.get(`${id}/thumbnail.png`)?.bytes).toEqual(await download(result.videos[0].thumbnail));
  expect(at[origin]!.objects.get(`${id}/video.mp4`)?.bytes).toEqual(await download(result.videos[0].url[0]));
});

test("a presigned URL gets the file with one PUT that has no credentials of ours, and is shown without its signature", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  const path = "/media/cover.png?X-Amz-Signature=abc&X-Amz-Expires=3600&b=%2F";
  at[origin]!.presigned.add(path);
  const id = await delivered(account, image({ deliver_to: { url: origin + path } }));
  const { delivery, result, metadata } = await readData(account, id);
  expect(at[origin]!.requests).toEqual(["PUT cover.png"]);
  expect(at[origin]!.objects.get("cover.png")?.bytes).toEqual(await download(result.images[0].url[0]));
  expect(delivery).toMatchObject({ status: "delivered", files: [{ name: "1.png", url: `${origin}/media/cover.png` }] });
  expect(JSON.stringify(metadata)).not.toContain("X-Amz");
  const stored = await runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
  expect(stored.submission.deliverTo?.url).toMatch(/^sealed:/);
});

test("a presigned URL that is refused fails at once, because nobody can repair it; one whose bucket has a fault is tried again", async () => {
  const account = await newAccount();
  const { at } = buckets([origin]);
  at[origin]!.mode = "forbidden";
  const refused = await delivered(account, image({ deliver_to: { url: `${origin}/media/x.png?X-Amz-Signature=old` } }));
  expect(await readDelivery(account, refused)).toMatchObject({
    status: "failed",
    files: [],
    attempts: [{ status: 403, code: "AccessDenied" }],
  });
  at[origin]!.mode = "full";
  at[origin]!.presigned.add("/media/y.png?X-Amz-Signature=new");
  const later = await delivered(account, image({ deliver_to: { url: `${origin}/media/y.png?X-Amz-Signature=new` } }));
  expect(await readDelivery(account, later)).toMatchObject({ status: "pending", attempts: [{ status: 507 }] });
  at[origin]!.mode = "moves";
  await pass(later, 5);
  expect(await readDelivery(account, later)).toMatchObject({ status: "pending", attempts: [{ status: 507 }, { status: 307 }] });
  at[origin]!.mode = "works";
  await pass(later, 30);
  expect(await readDelivery(account, later)).toMatchObject({ status: "delivered" });
});

test.each<[Mode, object]>([
  ["dead", { fault: "unreachable" }],
  ["hangs", { fault: "timeout" }],
  ["stalls", { fault: "timeout" }],
  ["hasty", { fault: "timeout" }],
  ["forbidden", { status: 403, code: "AccessDenied" }],
  ["full", { status: 507, code: "XMinioStorageFull" }],
  ["changes", { status: 200, fault: "changed" }],
  ["loses", { status: 404, fault: "changed" }],
])("a bucket that %s: the task is completed and settled, its own files stay, and the delivery is tried again", async (mode, attempt) => {
  const account = await withShop();
  const { at } = buckets([origin]);
  at[origin]!.mode = mode;
  const id = await complete(account, images, toShop());
  hurryAttempts();
  await alarm(id);
  const data = await readData(account, id);
  expect(data).toMatchObject({ status: "completed", delivery: { status: "pending", files: [], attempts: [attempt] } });
  expect(data.delivery.next_attempt_at).toBe(Math.floor(Date.now() / 1000) + 5);
  expect(JSON.stringify(data)).not.toContain("Secret details");
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0.03 });
  expect((await download(data.result.images[0].url[0])).byteLength).toBeGreaterThan(0);
  at[origin]!.mode = "works";
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({
    status: "delivered",
    files: [{ name: "1.png" }],
    attempts: [attempt, { status: 200 }],
  });
  expect(at[origin]!.objects.get(`${id}/1.png`)?.bytes).toEqual(await download(data.result.images[0].url[0]));
});

test.each<Mode>(["mute", "write_only"])(
  "a bucket that cannot say what it has (%s) is believed: it has verified the signed digest",
  async (mode) => {
    const account = await withShop();
    const { at } = buckets([origin]);
    at[origin]!.mode = mode;
    expect(await readDelivery(account, await delivered(account, toShop()))).toMatchObject({ status: "delivered" });
  },
);

test("our own file that is not the one in the record is never sent whole", async () => {
  const account = await withShop();
  const { at } = buckets([origin]);
  const id = await complete(account, images, toShop());
  const { objects } = await env.ASSETS.list({ prefix: `assets/${id}/` });
  const [file] = objects;
  const bytes = new Uint8Array(await (await env.ASSETS.get(file!.key))!.arrayBuffer());
  bytes[bytes.length - 1]! ^= 1;
  await env.ASSETS.put(file!.key, bytes);
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", files: [], attempts: [{ fault: "changed" }] });
  expect(at[origin]!.objects.size).toBe(0);
  await env.ASSETS.put(file!.key, bytes.subarray(1));
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", attempts: [{}, { fault: "changed" }] });
  expect(at[origin]!.objects.size).toBe(0);
});

test("a file that has arrived is not sent again when a later one failed", async () => {
  const account = await withShop();
  const { at } = buckets([origin]);
  const id = await complete(account, images, toShop({ n: 3 }));
  const bucket = at[origin]!;
  const push = bucket.requests.push.bind(bucket.requests);
  // The bucket is full after its first file.
  vi.spyOn(bucket.requests, "push").mockImplementation((request) => {
    if (request.startsWith("PUT") && request.endsWith("2.png") && bucket.objects.size === 1) bucket.mode = "full";
    return push(request);
  });
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", files: [{ name: "1.png" }], attempts: [{ status: 507 }] });
  vi.mocked(bucket.requests.push).mockImplementation(push);
  bucket.mode = "works";
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({
    status: "delivered",
    files: [{ name: "1.png" }, { name: "2.png" }, { name: "3.png" }],
  });
  expect(bucket.requests.filter((request) => request === `PUT ${id}/1.png`)).toHaveLength(1);
});

test("attempts follow each other after 5 s, 30 s, 2 min, 10 min, 1 h and 4 h, the last one before the files are deleted", async () => {
  const account = await withShop();
  const { at, received } = buckets([origin], { [hook]: ok });
  at[origin]!.mode = "dead";
  const id = await complete(account, images, toShop({ callback_url: hook }));
  await callBack(id);
  const { completed_at, expires_at } = await readData(account, id);
  expect(expires_at - completed_at).toBe(86_400);
  await alarm(id);
  const starts: number[] = [0];
  for (;;) {
    const { status, next_attempt_at } = await readDelivery(account, id);
    if (status !== "pending") break;
    starts.push(next_attempt_at - completed_at);
    await pass(id, next_attempt_at - Math.floor(Date.now() / 1000) + 1);
  }
  const gaps = starts.slice(1).map((start, index) => start - starts[index]!);
  expect(gaps.slice(0, 5)).toEqual([5, 31, 121, 601, 3_601]);
  expect(gaps.slice(5, -1).every((gap) => gap === 14_401)).toBe(true);
  expect(starts.at(-1)).toBe(86_400 - 610);
  expect((await readDelivery(account, id)).status).toBe("failed");
  const sent = at[origin]!.requests.length;
  // The end is announced, its callback is sent, and the files are deleted in time.
  await pass(id, 1);
  await pass(id, 1);
  await callBack(id);
  expect(received.map(({ body }) => JSON.parse(body).type)).toEqual(["task.completed", "task.delivery_failed"]);
  await pass(id, 700);
  expect((await env.ASSETS.list({ prefix: `assets/${id}/` })).objects).toEqual([]);
  await pass(id, 86_400);
  expect(at[origin]!.requests).toHaveLength(sent);
});

test("while a bucket hangs, the task's callback is made and other tasks of this and another account are delivered", async () => {
  const other = "https://other.example.com";
  const [account, second] = [await withShop({ endpoint: other }), await withShop()];
  await setDestination(account, {}, "good");
  const { at, received } = buckets([origin, other], { [hook]: ok });
  at[other]!.mode = "hangs";
  const hanging = await complete(account, images, toShop({ callback_url: hook }));
  const running = alarm(hanging);
  await vi.waitFor(() => expect(at[other]!.requests).toHaveLength(1));
  await callBack(hanging);
  expect(received).toHaveLength(1);
  expect(await readDelivery(account, await delivered(account, image({ deliver_to: { destination: "good" } })))).toMatchObject({
    status: "delivered",
  });
  expect(await readDelivery(second, await delivered(second, toShop()))).toMatchObject({ status: "delivered" });
  expect(await readDelivery(account, hanging)).toEqual({ status: "pending", files: [], attempts: [] });
  // The owner deletes the task: nothing more is sent, and a late report changes nothing.
  expect((await call(`/v1/tasks/${hanging}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  at[other]!.mode = "works";
  void running;
});

test("a private address is not called and not tried again where private addresses are not allowed", async () => {
  const account = await withShop();
  const { at } = buckets([origin, "https://10.0.0.7"]);
  await env.DB.prepare("UPDATE destination SET endpoint = 'https://10.0.0.7' WHERE account_id = ?1").bind(account.id).run();
  const id = await complete(account, images, toShop());
  // All objects share these variables: they are as before when the attempt is over.
  const setVariable = (value: string | undefined) =>
    runInDurableObject(openStub(id), (object) => {
      const { env: own } = object as unknown as { env: Env };
      const before = own.ALLOW_PRIVATE_NETWORK;
      if (value === undefined) delete own.ALLOW_PRIVATE_NETWORK;
      else own.ALLOW_PRIVATE_NETWORK = value;
      return before;
    });
  const before = await setVariable("off");
  try {
    await alarm(id);
  } finally {
    await setVariable(before);
  }
  expect(at["https://10.0.0.7"]!.requests).toEqual([]);
  expect(await readDelivery(account, id)).toMatchObject({ status: "failed", attempts: [{ fault: "blocked_url" }] });
});

test("a destination that was deleted or replaced counts as it is when the attempt begins", async () => {
  const account = await withShop({ secret_access_key: "wrong" });
  const { at } = buckets([origin]);
  const id = await delivered(account, toShop());
  expect(await readDelivery(account, id)).toMatchObject({ status: "pending", attempts: [{ status: 403, code: "SignatureDoesNotMatch" }] });
  await setDestination(account, { prefix: "new/" });
  await pass(id, 5);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", files: [{ url: `${origin}/media/new/${id}/1.png` }] });
  const gone = await complete(account, images, toShop());
  await call("/v1/destinations/shop", { key: account.key, method: "DELETE" });
  await alarm(gone);
  expect(await readDelivery(account, gone)).toMatchObject({ status: "failed", attempts: [{ fault: "no_destination" }] });
  expect(at[origin]!.requests.filter((request) => request.includes(gone))).toEqual([]);
});

test("the receiver gets task.completed, then task.delivered, each with its own id, and both stand among the events", async () => {
  const account = await withShop();
  const { received } = buckets([origin], { [hook]: ok });
  const before = await delivered(account, image());
  const id = await delivered(account, toShop({ callback_url: hook }));
  // The first call has not been made: the second one waits for it.
  await alarm(id);
  await alarm(id);
  expect(received).toEqual([]);
  await callBack(id);
  await alarm(id);
  await callBack(id);
  const secret = await readSecret(account);
  const [first, second] = received.map((message) => verified(message, secret));
  expect([first!.type, second!.type]).toEqual(["task.completed", "task.delivered"]);
  expect(second!.data).toEqual(await readData(account, id));
  const ids = received.map(({ headers }) => headers["webhook-id"]);
  expect(ids).toEqual([id.replace("task_", "evt_"), `${id.replace("task_", "evt_")}-delivery`]);
  expect(await findCallback(account, id)).toMatchObject({
    state: "delivered",
    delivery: { event: ids[1], state: "delivered", attempts: [{ status: 204 }] },
  });

  const after = await delivered(account, image());
  await wakeWallet(account);
  const { data } = (await call("/v1/events", { key: account.key })).body;
  expect(data.map(({ type, task }: { type: string; task: string }) => [type, task])).toEqual([
    ["task.completed", before],
    ["task.completed", id],
    ["task.delivered", id],
    ["task.completed", after],
  ]);
  const rest = await call(`/v1/events?after=${data[2].id}`, { key: account.key });
  expect(rest.body.data).toEqual(data.slice(3));
  expect((await call(`/v1/events?limit=2&after=${data[0].id}`, { key: account.key })).body.data).toEqual(data.slice(1, 3));
});

test("a task that is deleted while its delivery is noted stays deleted", async () => {
  const account = await withShop();
  buckets([origin]);
  const id = await complete(account, images, toShop());
  // oxlint-disable-next-line typescript/unbound-method -- called with its object
  const { noteDelivery } = WalletObject.prototype;
  const deleted: number[] = [];
  vi.spyOn(WalletObject.prototype, "noteDelivery").mockImplementationOnce(async function (this: WalletObject, ...values) {
    deleted.push((await call(`/v1/tasks/${id}`, { key: account.key, method: "DELETE" })).status);
    return noteDelivery.apply(this, values);
  });
  await alarm(id);
  await alarm(id);
  expect(deleted).toEqual([204]);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(404);
});

test("the owner delivers again: at once after a failure, everything if all had arrived, with one event of the last outcome", async () => {
  const account = await withShop();
  const { at, received } = buckets([origin], { [hook]: ok });
  const again = (id: string, key = account.key) => call(`/v1/tasks/${id}/delivery`, { key, method: "POST" });
  const id = await complete(account, images, toShop({ callback_url: hook }));
  await call("/v1/destinations/shop", { key: account.key, method: "DELETE" });
  await alarm(id);
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "failed", attempts: [{ fault: "no_destination" }] });
  await setDestination(account);
  const begun = await again(id);
  expect([begun.status, begun.body.data.delivery.status]).toEqual([200, "pending"]);
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", attempts: [{ fault: "no_destination" }, { status: 200 }] });
  await alarm(id);
  const events = async () =>
    (await call("/v1/events", { key: account.key })).body.data.map(({ id: event, type }: { id: string; type: string }) => [event, type]);
  const own = id.replace("task_", "evt_");
  expect(await events()).toEqual([
    [own, "task.completed"],
    [`${own}-delivery`, "task.delivered"],
  ]);
  for (let round = 0; round < 3; round++) {
    await callBack(id);
    await alarm(id);
  }
  expect(received).toHaveLength(2);
  // Lost at the far end.
  at[origin]!.objects.clear();
  expect((await again(id)).body.data.delivery).toMatchObject({ status: "pending", files: [] });
  await alarm(id);
  expect(await readDelivery(account, id)).toMatchObject({ status: "delivered", files: [{ name: "1.png" }] });
  expect([...at[origin]!.objects.keys()]).toEqual([`${id}/1.png`]);

  const waiting = await delivered(account, toShop());
  await alarm(waiting); // its end is announced
  at[origin]!.mode = "full";
  await again(waiting);
  await alarm(waiting);
  expect(await readDelivery(account, waiting)).toMatchObject({ status: "pending", attempts: [{ status: 200 }, { status: 507 }] });
  at[origin]!.mode = "works";
  await again(waiting);
  await alarm(waiting);
  expect(await readDelivery(account, waiting)).toMatchObject({ status: "delivered" });

  const open = await submit(account, images, toShop());
  expect((await again(open)).body.error.code).toBe("task_not_final");
  const plain = await complete(account, images, image());
  expect((await again(plain)).body.error.code).toBe("delivery_not_found");
  expect((await again(id, (await newAccount()).key)).body.error.code).toBe("task_not_found");
  expect((await call("/v1/tasks/task_none/delivery", { key: account.key, method: "POST" })).status).toBe(404);
  await pass(id, 86_395);
  expect((await again(id)).body.error.code).toBe("asset_expired");
});

test("a task that failed has no delivery", async () => {
  const account = await withShop();
  const { at } = buckets([origin]);
  const prompt = unique();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  const id = await submit(account, images, { ...toShop(), prompt });
  await finish(account, id);
  await alarm(id);
  expect(await readData(account, id)).not.toHaveProperty("delivery");
  expect(at[origin]!.requests).toEqual([]);
});

test("the ETag of a completed task changes with its delivery, and no cache keeps the earlier answer", async () => {
  const account = await withShop();
  const { at } = buckets([origin]);
  at[origin]!.mode = "dead";
  const id = await complete(account, images, toShop());
  const tags = new Set<string | null>();
  const read = async () => tags.add((await call(`/v1/tasks/${id}`, { key: account.key })).headers.get("etag"));
  await read();
  await alarm(id);
  await read();
  at[origin]!.mode = "works";
  await pass(id, 5);
  await read();
  expect(tags.size).toBe(3);
});

test.each<[string, unknown, string[]]>([
  ["nothing", {}, ["deliver_to"]],
  ["both", { url: "https://s3.example.com/x", destination: "shop" }, ["deliver_to"]],
  ["a prefix of a URL", { url: "https://s3.example.com/x", prefix: "a" }, ["deliver_to.prefix"]],
  ["no object", "shop", ["deliver_to"]],
  ["an unknown destination", { destination: "other" }, ["deliver_to.destination"]],
  ["another account's destination", { destination: "theirs" }, ["deliver_to.destination"]],
  ["http", { url: "http://s3.example.com/x" }, ["deliver_to.url"]],
  ["userinfo", { url: "https://a:b@s3.example.com/x" }, ["deliver_to.url"]],
  ["a path in a prefix", { destination: "shop", prefix: "a/../b" }, ["deliver_to.prefix"]],
  ["an absolute prefix", { destination: "shop", prefix: "/a" }, ["deliver_to.prefix"]],
  ["an escape in a prefix", { destination: "shop", prefix: "a%2f" }, ["deliver_to.prefix"]],
])("deliver_to with %s is refused, and nothing is reserved", async (_, deliver_to, params) => {
  const account = await withShop();
  await setDestination(await newAccount(), {}, "theirs");
  const answer = await call(images, { key: account.key, body: image({ deliver_to }) });
  expect(answer.status).toBe(400);
  expect(answer.body.error.details.map(({ param }: { param: string }) => param)).toEqual(params);
  expect(await call(`${images}?dry_run=true`, { key: account.key, body: image({ deliver_to }) })).toMatchObject({ status: 400 });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a presigned URL takes one file: several images and a thumbnail are refused", async () => {
  const { key } = await newAccount();
  const deliver_to = { url: "https://s3.example.com/x?X-Amz-Signature=1" };
  const refused = [
    await call(images, { key, body: image({ n: 2, deliver_to }) }),
    await call("/v1/videos/generations", { key, body: { model: "vidA-2", prompt: "x", metadata: { thumbnail: true }, deliver_to } }),
  ];
  for (const { status, body } of refused) expect([status, body.error.param]).toEqual([400, "deliver_to.url"]);
  expect((await call(`${images}?dry_run=true`, { key, body: image({ n: 1, deliver_to }) })).status).toBe(200);
});

test("a private endpoint is refused where private addresses are not allowed", async () => {
  const { key } = await newAccount();
  for (const url of [
    "https://10.0.0.1/x",
    "https://metadata.google.internal/x",
    "https://gateway.example/x",
    "https://s3.example.com:9000/x",
  ]) {
    const answer = await call(images, { key, body: image({ deliver_to: { url } }), vars: { ALLOW_PRIVATE_NETWORK: "off" } });
    expect([answer.status, answer.body.error.param], url).toEqual([400, "deliver_to.url"]);
  }
});

test("the same idempotency key with another deliver_to is a conflict", async () => {
  const account = await withShop();
  const headers = { "idempotency-key": unique() };
  const body = image();
  const send = (more: object) => call(images, { key: account.key, headers, body: { ...body, ...more } });
  const first = await send({ deliver_to: { destination: "shop" } });
  expect((await send({ deliver_to: { destination: "shop" } })).body.id).toBe(first.body.id);
  expect((await send({ deliver_to: { destination: "shop", prefix: "a/" } })).status).toBe(409);
  expect((await send({})).status).toBe(409);
});

test("client tokens cannot deliver, and see no destinations", async () => {
  const account = await withShop();
  const made = await call("/v1/tokens", { key: account.key, body: { tasks: 5, max_cost: 1, expires_in: 600 } });
  const key = made.body.token as string;
  const answer = await call(images, { key, body: toShop() });
  expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([403, "key_scope", "deliver_to"]);
  expect((await call("/v1/destinations", { key })).status).toBe(403);
  expect((await setDestination({ ...account, key })).status).toBe(403);
});

test("nothing of a destination's secret is in answers, records or logs", async () => {
  const account = await withShop();
  const lines: string[] = [];
  for (const level of ["log", "error"] as const) vi.spyOn(console, level).mockImplementation((line: string) => void lines.push(line));
  const { at } = buckets([origin]);
  at[origin]!.mode = "forbidden";
  const id = await delivered(account, toShop());
  const stored = await runInDurableObject(openStub(id), (_, ctx) => JSON.stringify(ctx.storage.kv.get("task")));
  const shown = JSON.stringify((await call("/v1/destinations", { key: account.key })).body);
  for (const text of [stored, shown, lines.join("\n")]) expect(text).not.toContain(secretAccessKey);
  expect(stored).not.toContain(accessKeyId);
  expect(await alarmAt(id)).not.toBeNull();
});
