/**
 * The second half of `npm run bench:large-body`: forms and JSON bodies of up to 16 MB to OpenAI's paths. Measures the OpenAI Worker's isolate and
 * the gateway's, each of 128 MB. Exits 1 if a limit is exceeded.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { bundle, root } from "../build.ts";
import { freshHeaders, gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { startServer } from "../server.ts";
import { startBucket } from "./bucket.ts";
import { type LargeBody, noise, send } from "./client.ts";
import { heapDuring } from "./heap.ts";
import { makeTempDir, must, report } from "./limits.ts";

const MiB = 1024 * 1024;
const boundary = "----form-of-the-bench";
const isForm = { "content-type": `multipart/form-data; boundary=${boundary}` };
const isJson = { "content-type": "application/json" };

const toBody = (pieces: Buffer[]): LargeBody => ({
  length: pieces.reduce((sum, piece) => sum + piece.length, 0),
  *pieces() {
    for (const piece of pieces) for (let at = 0; at < piece.length; at += 256 * 1024) yield piece.subarray(at, at + 256 * 1024);
  },
});

/** A form of text fields, then files. */
function form(fields: Record<string, string>, files: [name: string, bytes: Uint8Array][]): LargeBody {
  const head = (name: string, more: string) =>
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n`);
  const texts = Object.entries(fields).flatMap(([name, value]) => [head(name, ""), Buffer.from(`${value}\r\n`)]);
  const parts = files.flatMap(([name, bytes]) => [head(name, '; filename="file"'), Buffer.from(bytes), Buffer.from("\r\n")]);
  return toBody([...texts, ...parts, Buffer.from(`--${boundary}--\r\n`)]);
}

/** A real video, padded to this length with a box that players skip. */
function video(bytes: number): Uint8Array {
  const real = readFileSync(join(root, "src/sandbox/data/16x9-480.mp4"));
  const file = noise(bytes);
  file.set(real);
  const box = Buffer.from("....free");
  box.writeUInt32BE(bytes - real.length);
  file.set(box, real.length);
  return file;
}

const image = (bytes: number) => {
  const file = noise(bytes);
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return file;
};
const dataUri = (bytes: number) => `data:image/png;base64,${Buffer.from(image(bytes)).toString("base64")}`;

const edit = { model: "dall-e-3", prompt: "Two as one", size: "1024x1024" };
const videoFields = { model: "sora-2", prompt: "It moves", seconds: "4" };
/** Each path with the largest body that it accepts: 16 MB in total, 10 MiB per image. */
const bodies = [
  { path: "images/edits", headers: isForm, body: form(edit, [["image[]", image(10 * MiB)], ["image[]", image(5.9 * MiB)]]) }, // prettier-ignore
  { path: "images/edits", headers: isJson, body: toBody([Buffer.from(JSON.stringify({ ...edit, images: [dataUri(7 * MiB), dataUri(4.9 * MiB)] }))]) }, // prettier-ignore
  { path: "videos", headers: isForm, body: form(videoFields, [["input_reference", image(10 * MiB)]]) },
  { path: "videos", headers: isJson, body: toBody([Buffer.from(JSON.stringify({ ...videoFields, input_reference: { image_url: dataUri(10 * MiB) } }))]) }, // prettier-ignore
  { path: "videos/characters", headers: isForm, body: form({ name: "Mossy" }, [["video", video(15.9 * MiB)]]) },
];
const heapMB = 128;
const counts = [1, 5, 10];

const tempDir = await makeTempDir();

const worker = async (config: string, main: string) => {
  const configPath = join(root, config);
  return { configPath, script: await bundle(configPath, main, join(tempDir, main.replaceAll("/", "-"))) };
};
const bucket = await startBucket();
const server = await startServer(tempDir, {
  ...(await worker("wrangler.toml", "src/worker.ts")),
  openai: await worker("src/openai/wrangler.toml", "src/openai/worker.ts"),
  consumes: true,
  bindings: gatewayBindings,
  heapMB,
  bucket: bucket.address,
});
const client = new Client(server.url);

/** Sends this many copies of a body at once. */
async function measure({ path, headers, body }: (typeof bodies)[number], count: number, key: Record<string, string>): Promise<void> {
  const title = `${path}, ${headers === isForm ? "form" : "JSON"} of ${(body.length / MiB).toFixed(1)} MiB, ${count} at once`;
  const url = `${server.url}/openai/v1/${path}`;
  const work = () => Promise.all(Array.from({ length: count }, () => send(url, body, { headers: { ...key, ...headers } })));
  const { result, maxMiB: behind } = await heapDuring(server.openaiInspectorUrl, () => heapDuring(server.inspectorUrl, work));
  const { result: answers, maxMiB: front } = result;
  const statuses = answers.map((answer) => answer?.status ?? 0);
  console.log(`${title}: OpenAI Worker ${behind} MiB at most, gateway ${front} MiB; ${statuses.join(", ")}`);
  must(Math.max(behind, front) < heapMB, `${title}: an isolate held ${Math.max(behind, front)} MiB, not below ${heapMB}`);
  must(
    // The refusal may be lost if its connection closes before the body was read.
    answers.every((one) => one?.status === 200 || (count > 1 && one?.status === 0) || (one?.status === 503 && one.headers["retry-after"])),
    `${title}: an answer is neither 200 nor 503 with Retry-After`,
  );
  must(statuses.includes(200), `${title}: none was accepted`);
}

await report({ client, server, bucket }, async () => {
  const key = await freshHeaders(client);
  for (const one of bodies) for (const count of counts) await measure(one, count, key);
});
