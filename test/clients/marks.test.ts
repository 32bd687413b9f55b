/**
 * Signed files are valid for C2PA's reference implementation (`c2pa-python`, no trust list): those of a whole gateway with the sandbox, and files of every kind that
 * makers deliver. One changed byte is found.
 */

import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ALL_FORMATS, BufferSource, BufferTarget, Conversion, Input, Mp4OutputFormat, Output } from "mediabunny";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod/mini";
import { pythonWith } from "../../scripts/support/python.ts";
import { newTestChain } from "../../scripts/support/test-chain.ts";
import { readCredential } from "../../src/marks/credential.ts";
import { buildManifest } from "../../src/marks/manifest.ts";
import { imageManifestBytes, prepareImage } from "../../src/media/image-manifest.ts";
import { detectImageType } from "../../src/media/image-type.ts";
import { boxesIn } from "../../src/media/iso-boxes.ts";
import { manifestBox, VideoHash } from "../../src/media/video-manifest.ts";
import { jpeg, png, webps } from "../media/images.ts";
import { newAccount } from "./account.ts";

const run = promisify(execFile);
const folder = fileURLToPath(new URL("python", import.meta.url));
const python = () => pythonWith(join(folder, ".venvs", "c2pa"), join(folder, "requirements", "c2pa.txt"), { isComplete: true });
let own = "";

/** The runtime's stream that hashes what is written to it. */
class DigestStream extends WritableStream<Uint8Array> {
  readonly digest: Promise<ArrayBuffer>;

  constructor() {
    const hash = createHash("sha256");
    const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
    super({
      write: (bytes) => void hash.update(bytes),
      close: () => resolve(new Uint8Array(hash.digest()).buffer),
      abort: reject,
    });
    this.digest = promise;
  }
}

beforeAll(async () => {
  Object.assign(crypto, { DigestStream });
  own = await mkdtemp(join(tmpdir(), "c2pa-"));
  await python();
}, 600_000);
afterAll(() => rm(own, { recursive: true, force: true }));

const reports = z.array(
  z.object({
    state: z.string(),
    failures: z.array(z.string()),
    successes: z.array(z.string()),
    manifest: z.optional(
      z.object({
        claim_generator_info: z.array(z.record(z.string(), z.unknown())),
        assertions: z.array(z.object({ label: z.string(), data: z.record(z.string(), z.unknown()) })),
        signature_info: z.object({ alg: z.string(), issuer: z.string(), common_name: z.string() }),
      }),
    ),
  }),
);

/** What the reference implementation says about these files. */
async function validate(...files: [name: string, bytes: Uint8Array][]) {
  const paths = await Promise.all(
    files.map(async ([name, bytes]) => {
      const path = join(own, `${crypto.randomUUID()}-${name}`);
      await writeFile(path, bytes);
      return path;
    }),
  );
  const { stdout } = await run(await python(), [join(folder, "validate.py"), ...paths], { maxBuffer: 64 * 1024 * 1024 });
  return reports.parse(JSON.parse(stdout));
}

/** The failure that remains: no trust list contains a test certificate. */
const untrusted = ["signingCredential.untrusted"];
const sourceType = (name: string) => `http://cv.iptc.org/newscodes/digitalsourcetype/${name}`;

/** Checks that a file is valid, says how it was made, and says nothing else. */
function expectSigned([report]: Awaited<ReturnType<typeof validate>>, kind: string, binding: "data" | "bmff") {
  expect(report).toMatchObject({ state: "Valid", failures: untrusted });
  expect(report!.successes).toContain(`assertion.${binding}Hash.match`);
  const { manifest } = report!;
  expect(manifest!.claim_generator_info).toEqual([{ name: "Generation gateway" }]);
  expect(manifest!.signature_info).toMatchObject({ alg: "Es256", common_name: "Test certificate" });
  expect(manifest!.signature_info.issuer).toContain("test certificate");
  // The reader does not list an image's hash.
  const labels = ["c2pa.actions.v2", ...(binding === "bmff" ? ["c2pa.hash.bmff.v3"] : [])];
  expect(manifest!.assertions.map(({ label }) => label)).toEqual(labels);
  const [action, ...more] = manifest!.assertions[0]!.data["actions"] as { when: string }[];
  expect(more).toEqual([]);
  expect(action).toEqual({ action: "c2pa.created", when: action!.when, digitalSourceType: sourceType(kind) });
  expect(Math.abs(Date.parse(action!.when) - Date.now())).toBeLessThan(600_000);
}

/** Submits to the gateway and returns the files of the completed task. */
async function make(path: string, body: object, apiKey: string): Promise<{ id: string; files: Uint8Array[] }> {
  const base = process.env["GATEWAY_URL"] ?? "";
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const submitted = await fetch(`${base}${path}?wait=60`, { method: "POST", headers, body: JSON.stringify(body) });
  const links = z.array(z.object({ url: z.array(z.url()), thumbnail: z.optional(z.url()) }));
  const answer = z.object({
    id: z.string(),
    status: z.literal("completed"),
    result: z.object({ images: z.optional(links), videos: z.optional(links) }),
  });
  const { id, result } = answer.parse(await submitted.json());
  const urls = [...(result.images ?? []), ...(result.videos ?? [])].flatMap(({ url, thumbnail }) => [
    ...url,
    ...(thumbnail ? [thumbnail] : []),
  ]);
  return { id, files: await Promise.all(urls.map(async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer()))) };
}

test("the gateway's images, videos, thumbnails, edits and remixes are valid and say how they were made", async () => {
  const { apiKey } = await newAccount();
  const [image, video] = await Promise.all([
    make("/v1/images/generations", { model: "imgA-4", prompt: "A lighthouse" }, apiKey),
    make("/v1/videos/generations", { model: "vidA-2", prompt: "A lighthouse", metadata: { thumbnail: true } }, apiKey),
  ]);
  const picture = image.files[0]!;
  expectSigned(await validate(["image.png", picture]), "trainedAlgorithmicMedia", "data");
  expectSigned(await validate(["video.mp4", video.files[0]!]), "trainedAlgorithmicMedia", "bmff");
  const thumbnail = video.files[1]!;
  expectSigned(await validate([`thumbnail.${detectImageType(thumbnail)!.slice(6)}`, thumbnail]), "trainedAlgorithmicMedia", "data");
  const edited = { model: "imgA-4", prompt: "At night", images: [`data:image/png;base64,${Buffer.from(picture).toString("base64")}`] };
  const [edit, remix] = await Promise.all([
    make("/v1/images/generations", edited, apiKey),
    make(`/v1/videos/${video.id}/remix`, { model: "vidA-2", prompt: "At night" }, apiKey),
  ]);
  expectSigned(await validate(["edit.png", edit.files[0]!]), "compositeWithTrainedAlgorithmicMedia", "data");
  expectSigned(await validate(["remix.mp4", remix.files[0]!]), "compositeWithTrainedAlgorithmicMedia", "bmff");
});

const credential = newTestChain().then((chain) => readCredential(chain, new Date()));
const order = { isComposite: false, generator: "Generation gateway" };

/** Signs a file with the code of the gateway and of the marks Worker; `step` is the length of the pieces in which a video passes. */
async function sign(bytes: Uint8Array, step = 65_536): Promise<Uint8Array> {
  const type = detectImageType(bytes);
  if (type) {
    const placement = await prepareImage(bytes, type);
    const manifest = await buildManifest(
      { ...order, binding: placement!.binding, bytes: imageManifestBytes },
      await credential,
      new Date(),
    );
    expect(manifest.length).toBe(imageManifestBytes);
    return Buffer.concat(placement!.place(manifest));
  }
  const hash = new VideoHash();
  for (let at = 0; at < bytes.length; at += step) await hash.push(bytes.subarray(at, at + step));
  const binding = await hash.end();
  return Buffer.concat([bytes, manifestBox(await buildManifest({ ...order, binding: binding! }, await credential, new Date()))]);
}

const clip = () => readFile(new URL("../../src/sandbox/data/16x9-480.mp4", import.meta.url));

/** The clip written anew, in another order of its boxes. */
async function rewritten(fastStart: "fragmented" | "in-memory" | false): Promise<Uint8Array> {
  const input = new Input({ formats: ALL_FORMATS, source: new BufferSource(await clip()) });
  const target = new BufferTarget();
  const conversion = await Conversion.init({ input, output: new Output({ format: new Mp4OutputFormat({ fastStart }), target }) });
  await conversion.execute();
  return new Uint8Array(target.buffer!);
}

/** The same with 64 bits for the length of the media's box. */
function withLongBox(bytes: Uint8Array): Uint8Array {
  return Buffer.concat(
    Array.from(boxesIn(bytes), ({ type, body }) => {
      const isLong = type === "mdat";
      const head = Buffer.alloc(isLong ? 16 : 8);
      head.writeUInt32BE(isLong ? 1 : body.length + 8);
      head.write(type, 4, "latin1");
      if (isLong) head.writeBigUInt64BE(BigInt(body.length + 16), 8);
      return Buffer.concat([head, body]);
    }),
  );
}

/** Bytes of what the file shows: of its pixels, and of a video's media and index. */
function placesIn(name: string, signed: Uint8Array): number[] {
  if (name.endsWith(".webp")) return [30];
  if (name.endsWith(".jpg")) return [signed.length - 3];
  if (name.endsWith(".png")) return [20, signed.length - 30];
  const bytes = Buffer.from(signed);
  return [bytes.indexOf("mdat") + 40, bytes.indexOf("mvhd") + 20];
}

const kinds: [name: string, read: () => Promise<Uint8Array> | Uint8Array, step?: number][] = [
  ["a.png", () => png],
  ["a.jpg", () => jpeg],
  ...webps.map((webp, at) => [`${at}.webp`, () => webp] as [string, () => Uint8Array]),
  ["index-first.mp4", () => rewritten("in-memory")],
  ["index-last.mp4", () => rewritten(false)],
  ["fragmented.mp4", () => rewritten("fragmented")],
  ["long-box.mp4", async () => withLongBox(await rewritten(false))],
  ["in-small-pieces.mp4", clip, 7],
];

test.each(kinds)("%s: valid, until one byte changes", async (name, read, step) => {
  const original = await read();
  const signed = await sign(original, step);
  const binding = name.endsWith(".mp4") ? "bmff" : "data";
  expectSigned(await validate([name, signed]), "trainedAlgorithmicMedia", binding);
  for (const at of placesIn(name, signed)) {
    const changed = Uint8Array.from(signed);
    changed[at]! ^= 1;
    const [report] = await validate([name, changed]);
    expect(report).toMatchObject({ state: "Invalid" });
    expect(report!.failures).toContain(`assertion.${binding}Hash.mismatch`);
  }
});

test("a video whose last box has no length, or is cut off, has no place for a manifest", async () => {
  const bytes = await rewritten(false);
  const hashed = async (file: Uint8Array) => {
    const hash = new VideoHash();
    await hash.push(file);
    return hash.end();
  };
  const withoutLength = Buffer.from(bytes);
  withoutLength.fill(0, withoutLength.indexOf("moov") - 4, withoutLength.indexOf("moov"));
  expect(await hashed(bytes)).toBeDefined();
  expect(await hashed(withoutLength)).toBeUndefined();
  expect(await hashed(bytes.subarray(0, -1))).toBeUndefined();
  expect(await hashed(Buffer.concat([bytes, Buffer.alloc(5)]))).toBeUndefined();
});
