/** A program that uses the package, run by test/packages: against the gateway, and behind a proxy that loses and changes answers. */

import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import {
  type APIError,
  ConnectionError,
  DeliveryFailedError,
  file,
  Gateway,
  InternalError,
  InvalidRequestError,
  NotFoundError,
  TaskFailedError,
  TimeoutError,
  toFile,
  UnauthorizedError,
  verifyWebhook,
  verifyReceipt,
} from "generation-gateway-client";

const samples = JSON.parse(readFileSync("samples.json", "utf8"));
// The address and the key are read from GATEWAY_URL and GATEWAY_KEY.
const gateway = new Gateway();

const body = { model: "imgA-4", prompt: `A lighthouse ${crypto.randomUUID()}`, n: 2 };
const idempotencyKey = crypto.randomUUID();
const seen: number[] = [];
const image = await gateway.images.generate(body, { idempotencyKey, onProgress: ({ progress }) => seen.push(progress) });
if (seen.at(-1) !== 100) throw new Error(`progress ended at ${seen.at(-1)}`);
const again = await gateway.images.generate(body, { idempotencyKey });
const downloads = await gateway.tasks.download(image);
const pngs = await Promise.all(downloads.map((one) => one.bytes()));

const video = await gateway.videos.generate({ model: "vidA-2", prompt: "A lighthouse", duration: 10 });
const [film] = await gateway.tasks.download(video);
const saved = await film!.save();

// Types by model: each of these lines is an error.
// @ts-expect-error a duration that the model does not have
void (() => gateway.videos.create({ model: "vidA-2", prompt: "a", duration: 7 }));
// @ts-expect-error a setting of another model
void (() => gateway.videos.create({ model: "vidB-3.1-fast", prompt: "a", metadata: { resolution: "720p" } }));
// @ts-expect-error a remix with a duration that the model does not have
void (() => gateway.videos.createRemix("task_a", { model: "vidA-2", prompt: "a", duration: 25 }));
// A model that the operator has added has no such types.
void (() => gateway.videos.create({ model: "house-film", prompt: "a", duration: 7, metadata: { resolution: "8k" }, images: [picture] }));
void (() => gateway.videos.createRemix("task_a", { model: "house-film", prompt: "a", duration: 7 }));
// @ts-expect-error a type that no model has
void (() => gateway.videos.create({ model: "house-film", prompt: "a", duration: "7" }));
// @ts-expect-error a field that does not exist
void (() => gateway.images.create({ model: "imgA-4", prompt: "a", promt: "b" }));

const caught = async (work: Promise<unknown>) =>
  work.then(
    () => new Error("nothing was thrown"),
    (error: unknown) => error,
  );
const refused = (await caught(gateway.images.create({ ...body, n: 9, size: "5:4" as "1:1" }))) as APIError;
const failed = (await caught(gateway.images.generate({ ...body, prompt: "sandbox:flag" }))) as TaskFailedError;
const stranger = await caught(new Gateway({ apiKey: "sk-nothing" }).models.list());
// A task that takes longer than the time limit of a request, without repeats.
await gateway.videos.generate({ model: "vidA-2", prompt: "Within the limit" }, { timeout: 4000, maxRetries: 0 });

// Streams: a chat, and a task from its start to its end.
let text = "";
const stream = await gateway.chat.completions.create({
  model: "textA-1-mini",
  messages: [{ role: "user", content: "What is a lighthouse?" }],
  stream: true,
});
for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
const whole = await gateway.chat.completions.create({
  model: "textA-1-mini",
  messages: [{ role: "user", content: "What is a lighthouse?" }],
});
const states: string[] = [];
const followed = await gateway.images.create({ model: "imgA-4", prompt: `Followed ${crypto.randomUUID()}` });
for await (const task of gateway.tasks.stream(followed.id)) states.push(task.status);

// Files: an upload from the disk, and one in place of a URL.
const picture = await toFile(pngs[0]!, "lighthouse.png", { type: "image/png" });
const uploaded = await gateway.files.upload(await file(saved));
const edited = await gateway.images.generate({ model: "imgB-4o-image", prompt: `Make it snow ${crypto.randomUUID()}`, images: [picture] });
const kept = await gateway.files.download(uploaded.id);
const isWhole = (await kept.bytes()).length === statSync(saved).size;

// Delivery to a bucket: a presigned URL of the test's proxy.
const { PROXY_URL: baseURL = "" } = process.env;
const still = { model: "imgA-4", prompt: `Delivered ${crypto.randomUUID()}` };
const delivered = await gateway.images.generate(still, { deliverTo: { url: `${baseURL}/bucket/image?signature=x` } });
const stored = Buffer.from(await (await fetch(`${baseURL}/bucket/image`)).arrayBuffer());
const [own] = await gateway.tasks.download(delivered);
const isDelivered = stored.length > 0 && Buffer.compare(stored, await own!.bytes()) === 0;
const undelivered = await caught(gateway.images.generate(still, { deliverTo: { url: `${baseURL}/bucket/forbidden` } }));

// Delivered again, to a bucket that refuses the first time: a task, and a line of a batch, whose file is uploaded on the way.
const until = async <T>(read: () => Promise<T>, isReached: (value: T) => unknown) => {
  for (;;) {
    const value = await read();
    if (isReached(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
};
const toRepaired = (name: string) => ({ url: `${baseURL}/bucket/repaired-${name}` });
const late = (await caught(gateway.images.generate(still, { deliverTo: toRepaired("task") }))) as DeliveryFailedError;
await gateway.tasks.deliver(late.task.id);
const redelivered = await until(
  () => gateway.tasks.retrieve(late.task.id),
  ({ delivery }) => delivery?.status !== "pending",
);
const line = { custom_id: "a", endpoint: "/v1/images/generations", body: { ...still, deliver_to: toRepaired("line") } };
const { id: shipped } = await gateway.batches.create({ input_file: await toFile(JSON.stringify(line), "lines.jsonl") });
const delivery = async () => (await gateway.batches.retrieve(shipped)).deliveries ?? { pending: 0, delivered: 0, failed: 0 };
const closed = await until(delivery, ({ failed: count }) => count > 0);
const repeated = (await gateway.batches.deliver(shipped)).deliveries;
const open = await until(delivery, ({ delivered: count }) => count > 0);

// A bucket of the account: added, listed, removed.
const destination = await gateway.destinations.set("own", {
  kind: "s3",
  endpoint: "https://s3.eu-central-1.amazonaws.com",
  region: "eu-central-1",
  bucket: "pictures",
  access_key_id: "a",
  secret_access_key: "b",
});
const destinations = await gateway.destinations.list();
await gateway.destinations.delete("own");
const removed = (await caught(gateway.destinations.retrieve("own"))) as APIError;

// Lists, batches, prices.
const reference = crypto.randomUUID();
const requests = [1, 2, 3].map((n) => ({
  custom_id: `line-${n}`,
  endpoint: "/v1/images/generations",
  body: { model: "imgA-4", prompt: `Line ${n} of ${reference}`, reference },
}));
const batch = await gateway.batches.wait((await gateway.batches.create({ requests })).id);
const lines: string[] = [];
for await (const { custom_id: id, status, cost } of gateway.batches.results(batch.id)) lines.push(`${id} ${status} ${cost.charged}`);
let listed = 0;
for await (const task of gateway.tasks.list({ reference, limit: 2 })) if (task.reference === reference) listed++;
const page = await gateway.tasks.list({ reference, limit: 2 }).page();
const estimate = await gateway.estimates.create({ model: "vidC-1-0-pro-fast", prompt: "Northern lights", duration: 8 });
const { used_balance: used } = await gateway.account.balance();

// Behind the proxy: whatever is lost, one submission makes one task.
const fault = (name: string, count = 1, pass = 0) => fetch(`${baseURL}/faults/${name}/${count}/${pass}`, { method: "PUT" });
const log = async () => (await (await fetch(`${baseURL}/faults`)).json()) as string[];
const warnings: string[] = [];
const logger = { debug: () => undefined, warn: (line: string) => warnings.push(line) };
const proxied = new Gateway({ baseURL: `${baseURL}/v1/`, logger });
const survived: Record<string, unknown> = {};
let behind = image;
for (const name of ["drop", "lost", "cut", "html", "foreign"]) {
  const mine = crypto.randomUUID();
  await fault(name, 2);
  const task = await proxied.images.generate({ model: "imgA-4", prompt: mine, reference: mine });
  const keys = new Set((await log()).filter((line) => line.startsWith("POST")).map((line) => line.split(" ")[2]));
  behind = task;
  survived[name] = [task.status, (await gateway.tasks.list({ reference: mine }).page()).data.length, keys.size];
}
await fault("cut", 2);
const [cutFile] = await proxied.tasks.download(behind);
const resumed = (await cutFile!.bytes()).length === cutFile!.size;
const ranges = (await log()).length;
// Only the first file of several is open before they are read.
await fault("drop", 0);
const several = await proxied.tasks.download(await proxied.tasks.retrieve(image.id));
// Of many files that are read at once four are open at a time.
let [reading, most] = [0, 0];
const many = new Gateway({
  baseURL: "https://files.example",
  apiKey: "sk-nothing",
  fetch: async (_, init) => {
    if (init?.method === "HEAD") return new Response(null, { headers: { "content-length": "1" } });
    most = Math.max(most, ++reading);
    await new Promise((resolve) => setTimeout(resolve, 20));
    reading--;
    return new Response("a", { status: 206 });
  },
});
const links = Array.from({ length: 12 }, (_, at) => `https://files.example/assets/task_a/${at}.png`);
const manyFiles = await many.tasks.download({
  result: { images: links.map((url) => ({ url: [url], expires_at: 0, credentials: "none" })) },
});
const bounded = [(await Promise.all(manyFiles.map((one) => one.bytes()))).length, most];
const opened = (await log()).map((line) => line.split(" ")[0]);
const isSame = Buffer.compare(await several[1]!.bytes(), pngs[1]!) === 0 && several[1]!.size === pngs[1]!.length;
await fault("cut", 1);
const cutChat = await caught(proxied.chat.completions.create({ model: "textA-1-mini", messages: [{ role: "user", content: "Hello" }] }));
const chats = (await log()).length;
// A chat whose connection was lost, or that a page of the platform's or a fault of the gateway answers, may have been paid for.
const greeting = { model: "textA-1-mini", messages: [{ role: "user" as const, content: "Hello" }] };
for (const name of ["lost", "html", "failed"])
  for (const ask of [
    () => proxied.chat.completions.create(greeting),
    () => proxied.request("POST", "/v1/chat/completions", { body: greeting }),
  ]) {
    await fault(name, 1);
    const error = await caught(ask());
    if (!(error instanceof ConnectionError || error instanceof InternalError)) throw error;
    if ((await log()).length !== 1) throw new Error(`a chat that was ${name} was repeated`);
  }
// The key is sent to the API alone, whatever a program takes for a path.
const keyed: string[] = [];
const watched = new Gateway({
  baseURL: "https://gateway.example",
  apiKey: "sk-nothing",
  fetch: async (url, init) => {
    if (new Headers(init?.headers).has("authorization")) keyed.push(new Request(url).url);
    return Response.json({});
  },
});
for (const path of [
  "/v1/models",
  "/admin/audit",
  "https://other.example/v1/x",
  "//other.example/v1/x",
  "/\\other.example/x",
  "/\t/other.example/x",
])
  await watched.request("GET", path);
if (keyed.join() !== "https://gateway.example/v1/models,https://gateway.example/admin/audit") throw new Error(keyed.join());
// A file of any name is saved under it.
const form = new FormData();
form.append("file", new File([pngs[0]!], "Küste 100% – 海.png"));
const auth = { authorization: `Bearer ${process.env["GATEWAY_KEY"]}` };
const posted = await fetch(`${process.env["GATEWAY_URL"]}/v1/files`, { method: "POST", headers: auth, body: form });
const { name: ownName } = await gateway.files.download(((await posted.json()) as { id: string }).id);
if (ownName !== "Küste 100% – 海.png") throw new Error(ownName);
// What has no key of its own is done once too, and a name never leads to another path.
await fault("cut", 1);
const rotated = [(await caught(proxied.webhook.rotateSecret())) instanceof ConnectionError, (await log()).length];
if (String(rotated) !== "true,1") throw new Error(`rotated: ${String(rotated)}`);
const mine = crypto.randomUUID();
await fault("lost", 1);
await proxied.request("POST", "/v1/images/generations", { body: { model: "imgA-4", prompt: mine, reference: mine } });
if ((await gateway.tasks.list({ reference: mine }).page()).data.length !== 1) throw new Error("made twice");
for (const name of ["../webhook_secret", ""])
  if (!((await caught(gateway.tasks.wait(name))) instanceof NotFoundError)) throw new Error(`found: ${name}`);
await fault("delay", 1);
const slow = await caught(proxied.models.list({ timeout: 300, maxRetries: 0 }));
await fault("html", 9);
const gone = (await caught(proxied.models.list({ maxRetries: 0 }))) as APIError;
const stop = new AbortController();
await fault("drop", 9);
const stopping = caught(proxied.models.list({ signal: stop.signal }));
setTimeout(() => stop.abort(), 900);
const started = Date.now();
const stopped = (await stopping) as Error;
const isAtOnce = Date.now() - started < 1500;

// What stalls ends by the time limit, and continues where it can; what was aborted does not begin.
const hello = { model: "textA-1-mini", messages: [{ role: "user" as const, content: "Hello" }], stream: true as const };
const toEnd = async (chat: Promise<AsyncIterable<unknown>>) => {
  for await (const _ of await chat);
};
const quick = { timeout: 700 };
await fault("stall");
const stalledChat = await caught(toEnd(proxied.chat.completions.create(hello, quick)));
await fault("stall");
const [stalledFile] = await proxied.tasks.download(behind, quick);
const isStallResumed = (await stalledFile!.bytes()).length === stalledFile!.size;
await fault("stall");
const stalledStates: string[] = [];
for await (const task of proxied.tasks.stream(behind.id, quick)) stalledStates.push(task.status);
await fault("empty", 99);
const silent = await caught(toEnd(Promise.resolve(proxied.tasks.stream(behind.id))));
const reconnections = (await log()).length;
await fault("page");
const behindPage = await proxied.models.list();
await fault("drop", 0);
const aborted = (await caught(proxied.chat.completions.create(hello, { signal: AbortSignal.abort() }))) as Error;
const leaving = new AbortController();
const left = (await caught(
  (async () => {
    for await (const _ of await proxied.chat.completions.create(hello, { signal: leaving.signal })) leaving.abort();
  })(),
)) as Error;
const pause = new AbortController();
const films = [{ custom_id: "film", endpoint: "/v1/videos/generations", body: { model: "vidA-2", prompt: reference } }];
const { id: filmsId } = await gateway.batches.create({ requests: films });
const pauseStarted = Date.now();
const paused = (await caught(gateway.batches.wait(filmsId, { signal: pause.signal, onProgress: () => pause.abort() }))) as Error;
const isPauseEnded = Date.now() - pauseStarted < 2500;
await gateway.batches.cancel(filmsId);
const cancelled = await gateway.batches.wait(filmsId);

// A download that fails leaves the earlier file of that name as it was.
writeFileSync("kept.png", "earlier");
const saving = new AbortController();
const [broken] = await gateway.tasks.download(behind, { signal: saving.signal });
const unfinished = caught(broken!.save("kept.png"));
saving.abort();
const unsaved = (await unfinished) as Error;
const isKept = readFileSync("kept.png", "utf8") === "earlier" && !existsSync("kept.png.part");

const headers = new Headers(samples.headers);
const callback = await verifyWebhook(samples.secret, headers, samples.body);
// As Node's `http` has them.
await verifyWebhook(samples.secret, { ...samples.headers, "set-cookie": ["a", "b"] }, samples.body);
const forgedCallback = await caught(verifyWebhook(samples.secret, headers, `${samples.body} `));
const receipt = await verifyReceipt<{ id: string }>(samples.answer, samples.jwks);
const changed = { ...samples.answer, receipt: { ...samples.answer.receipt, charged: 0 } };
const forgedReceipt = await caught(verifyReceipt(changed, samples.jwks));

console.log(
  JSON.stringify({
    image: { status: image.status, charged: image.cost.charged, types: downloads.map(({ type }) => type) },
    opened: [...opened, isSame],
    bounded,
    names: downloads.map(({ name }) => /^[\w-]+\.png$/.test(name)),
    again: again.id === image.id,
    video: { duration: video.result && "videos" in video.result && video.result.videos[0]!.duration, bytes: statSync(saved).size > 10_000 },
    refused: {
      isTyped: refused instanceof InvalidRequestError,
      status: refused.status,
      code: refused.code,
      param: refused.param,
      params: refused.details.map(({ param }) => param).sort(),
      hasId: refused.requestId !== undefined,
    },
    unauthorized: stranger instanceof UnauthorizedError,
    failed: failed instanceof TaskFailedError && failed.code,
    chat: { streamed: text.length > 0, whole: (whole.choices[0]?.message.content ?? "").length > 0 },
    states: [states.at(-1), states.length > 1],
    files: { type: uploaded.type, isWhole, edited: edited.status },
    batch: { status: batch.status, lines, listed, page: page.data.length },
    delivery: [delivered.delivery?.status, isDelivered, undelivered instanceof DeliveryFailedError && undelivered.task.status],
    redelivery: [redelivered.delivery?.status, closed.failed, repeated?.failed, open.delivered],
    destination: [destination.bucket, destinations.map(({ name }) => name), removed.code],
    cancelled: cancelled.status,
    estimate: [estimate.kind, estimate.price],
    used: used > 0,
    survived,
    warned: warnings.length >= 10,
    resumed: [resumed, ranges],
    cutChat: [cutChat instanceof ConnectionError, chats],
    slow: slow instanceof TimeoutError,
    gone: [gone.status, gone.code === undefined, String(gone.body).includes("1101")],
    stopped: [stopped.name, isAtOnce],
    stalled: [stalledChat instanceof TimeoutError, isStallResumed, stalledStates.at(-1)],
    silent: [silent instanceof ConnectionError, reconnections],
    page: behindPage.length > 0,
    aborted: [aborted.name, left.name, paused.name, isPauseEnded],
    kept: [unsaved.name, isKept],
    callback: callback.type,
    forgedCallback: (forgedCallback as Error).message.includes("signature"),
    receipt: receipt.id,
    forgedReceipt: (forgedReceipt as Error).message.includes("receipt"),
  }),
);
