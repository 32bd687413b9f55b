/** Files that carry no manifest are signed while they are stored; what cannot be signed is stored as it is. */

import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { credentialReader } from "../../src/media/credentials.ts";
import type { SignOrder } from "../../src/media/file-binding.ts";
import { boxesIn } from "../../src/media/iso-boxes.ts";
import type { Asset } from "../../src/storage/assets.ts";
import type { Task } from "../../src/tasks/record.ts";
import { png } from "../media/images.ts";
import { openStub } from "../support/faults.ts";
import { type Account, alarmAt, call, complete, deliver, holdTime, newAccount, pass, submit, unique } from "../support/gateway.ts";

holdTime();

type Signer = NonNullable<Env["SIGNER"]>;

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const signing = { MARKS: "sign" };

/** Runs a task to its end with these variables; returns its record. */
async function run(path: string, body: object, vars: Partial<Env>, owner?: Account): Promise<Task> {
  const account = owner ?? (await newAccount());
  const id = await submit(account, path, body);
  for (let round = 0; round < 12; round++) {
    await deliver(id, "gateway-dispatch", vars);
    const { body: answer } = await call(`/v1/tasks/${id}`, { key: account.key });
    if (["completed", "failed"].includes(answer.data.status)) break;
    await pass(id, Math.max(2, ((await alarmAt(id)) ?? 0) / 1000 - Date.now() / 1000));
  }
  return runInDurableObject(openStub(id), (_, ctx) => ctx.storage.kv.get<Task>("task")!);
}

const runImage = (vars: Partial<Env>, more: object = {}) => run(images, { model: "imgA-4", prompt: unique(), ...more }, vars);
const runVideo = (vars: Partial<Env>, more: object = {}, owner?: Account) =>
  run(videos, { model: "vidA-2", prompt: unique(), ...more }, vars, owner);

function imagesOf({ result }: Task): Asset[] {
  if (result?.kind !== "images") throw new Error("no images");
  return result.images;
}

function videoOf({ result }: Task) {
  if (result?.kind !== "video") throw new Error("no video");
  return result;
}

/** The stored file. Its length and digest are those of the record. */
async function readStored(asset: Asset): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await (await env.ASSETS.get(asset.key))!.arrayBuffer());
  expect(bytes.length).toBe(asset.bytes);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  expect(digest.toBase64({ alphabet: "base64url", omitPadding: true })).toBe(asset.digest);
  return bytes;
}

function carriesManifest(bytes: Uint8Array, type: string): boolean {
  const reader = credentialReader(type);
  reader.push(bytes);
  return reader.found;
}

/** A marks Worker that passes orders on and keeps them. */
function watched() {
  const orders: SignOrder[] = [];
  const SIGNER: Signer = { sign: (order) => (orders.push(order), (env as Env).SIGNER!.sign(order)) };
  return { orders, vars: { ...signing, SIGNER } };
}

/** The alerts of the test: why each file is stored unsigned. */
function watchAlerts() {
  const spy = vi.spyOn(console, "error").mockImplementation(() => undefined);
  return () =>
    spy.mock.calls
      .map(([line]) => JSON.parse(String(line)) as { unit: string; reason: string; error?: string })
      .filter(({ unit }) => unit === "marks")
      .map(({ reason, error }) => (error === undefined ? reason : `${reason}: ${error}`));
}

test("without MARKS, files are stored as their maker made them, and no manifest is asked for", async () => {
  const { orders, vars } = watched();
  const [image] = imagesOf(await runImage({ ...vars, MARKS: "" }));
  expect(image!.credentials).toBe("none");
  expect(carriesManifest(await readStored(image!), "image/png")).toBe(false);
  expect(orders).toEqual([]);
});

test("each image of a task is signed, as made from a description alone, without anything of the caller", async () => {
  const { orders, vars } = watched();
  const made = imagesOf(await runImage(vars, { n: 2 }));
  expect(made.map(({ credentials }) => credentials)).toEqual(["gateway", "gateway"]);
  for (const image of made) expect(carriesManifest(await readStored(image), "image/png")).toBe(true);
  expect(orders.map((order) => Object.keys(order).sort())).toEqual(
    Array.from(orders, () => ["binding", "bytes", "generator", "isComposite"]),
  );
  expect(orders.map(({ isComposite }) => isComposite)).toEqual([false, false]);
});

test("an edit is signed as composite", async () => {
  const { orders, vars } = watched();
  await runImage(vars, { images: [`data:image/png;base64,${png.toBase64()}`] });
  expect(orders.map(({ isComposite }) => isComposite)).toEqual([true]);
});

test("a video with a character is signed as composite", async () => {
  const { orders, vars } = watched();
  const account = await newAccount();
  const video = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  const made = await complete(account, videos, { model: "vidA-2", from_task: video, timestamps: "0,1" });
  const { username } = (await call(`/v1/tasks/${made}`, { key: account.key })).body.data.result.data.characters[0];
  await runVideo(vars, { prompt: `${unique()} @${username}` }, account);
  expect(orders.map(({ isComposite }) => isComposite)).toEqual([true]);
});

test("a video is signed behind its last box: every byte before it is the maker's", async () => {
  const original = await readStored(videoOf(await runVideo({})).video);
  const { video } = videoOf(await runVideo(signing));
  expect(video.credentials).toBe("gateway");
  const signed = await readStored(video);
  expect(carriesManifest(signed, "video/mp4")).toBe(true);
  const types = (bytes: Uint8Array) => Array.from(boxesIn(bytes), ({ type }) => type);
  expect(types(signed)).toEqual([...types(original), "uuid"]);
  // The upstream's last box has the operation's id.
  const common = original.length - 8 - [...boxesIn(original)].at(-1)!.body.length;
  expect(signed.subarray(0, common).toHex() === original.subarray(0, common).toHex()).toBe(true);
});

test("a video's thumbnail is signed itself", async () => {
  const { thumbnail } = videoOf(await runVideo(signing, { model: "vidA-2", metadata: { thumbnail: true } }));
  expect(thumbnail?.credentials).toBe("gateway");
  expect(carriesManifest(await readStored(thumbnail!), thumbnail!.type)).toBe(true);
});

const failure: Signer = { sign: () => Promise.reject(new Error("scripted")) };

test.each([
  ["throws", failure, {}, "failed: Error: scripted"],
  ["refuses", { sign: () => Promise.resolve({ refused: "C2PA_CERTIFICATES has expired" }) }, {}, "refused: C2PA_CERTIFICATES has expired"],
  ["is not deployed", undefined, {}, "no_marks_worker"],
  ["sends too much", { sign: () => Promise.resolve({ manifest: new Uint8Array(65_537) }) }, {}, "too_long"],
])("a marks Worker that %s costs no file: it is stored as it is, and an alert says why", async (_, SIGNER, more, reason) => {
  const alerts = watchAlerts();
  const vars = { ...signing, ...more, SIGNER } as Partial<Env>;
  const [image] = imagesOf(await runImage(vars));
  const { video } = videoOf(await runVideo(vars));
  for (const asset of [image!, video]) {
    expect(asset.credentials).toBe("none");
    expect(carriesManifest(await readStored(asset), asset.type)).toBe(false);
  }
  expect(alerts()).toEqual([reason, reason]);
});

test("a marks Worker that does not answer delays a task once", async () => {
  const alerts = watchAlerts();
  let asked = 0;
  const SIGNER: Signer = { sign: () => (asked++, new Promise(() => undefined)) };
  const wait = scheduler.wait.bind(scheduler);
  const skipped = (ms: number, options?: SchedulerWaitOptions) => (ms === 3_000 ? Promise.resolve() : wait(ms, options));
  vi.spyOn(scheduler, "wait").mockImplementation(skipped);
  const made = imagesOf(await runImage({ ...signing, SIGNER }, { n: 3 }));
  expect(made.map(({ credentials }) => credentials)).toEqual(["none", "none", "none"]);
  for (const image of made) await readStored(image);
  expect(asked).toBe(1);
  expect(alerts()).toEqual(["slow", "slow", "slow"]);
});

test("a wrong value of MARKS costs no file", async () => {
  const alerts = watchAlerts();
  const [image] = imagesOf(await runImage({ MARKS: "yes" }));
  expect(carriesManifest(await readStored(image!), "image/png")).toBe(false);
  expect(new Set(alerts())).toEqual(new Set(["variable: VariableError: the variable MARKS must be one of keep, sign"]));
});
