/**
 * `npm run bench:answers`: ten tasks at once, each with an answer of four 4.5 MB images in Base64, then ten tasks that also have four
 * such input images by URL, in an isolate of 128 MB. Exits 1 if a limit is exceeded.
 */

import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bundle, root } from "../build.ts";
import { freshHeaders, gatewayBindings, readStatus, readTaskId } from "../calls.ts";
import { Client } from "../load.ts";
import { cpuUs, processesBelow } from "../process-tree.ts";
import { startServer } from "../server.ts";
import { startBucket } from "./bucket.ts";
import { heapDuring } from "./heap.ts";

const heapMB = 128;
const tasks = 10;
const images = 4;
const imageBytes = 4_500_000;
const longestMs = 90_000;

/** An image upstream that waits for this many requests and then answers them together, which is the worst case. It also serves the callers' images. */
async function startUpstream() {
  const file = new Uint8Array(imageBytes);
  // Numbers without a pattern (a linear congruential generator, constants of Numerical Recipes), so that the Base64 has every letter.
  for (let at = 0, state = 1; at < imageBytes; at++, state = (state * 1664525 + 1013904223) >>> 0) file[at] = state >>> 24;
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const image = JSON.stringify({ b64_json: Buffer.from(file).toString("base64") });
  const answer = Buffer.from(`{"data":[${Array.from({ length: images }, () => image).join(",")}],"output_format":"png"}`);
  let everybody = Promise.withResolvers<void>();
  let asked = 0;
  let inputBytes = 0;
  const server = createServer((incoming, outgoing) => {
    incoming.on("data", (piece: Buffer) => (inputBytes += piece.length));
    if (incoming.method === "GET") {
      outgoing.writeHead(200, { "content-type": "image/png", "content-length": imageBytes });
      outgoing.end(file);
      return;
    }
    void once(incoming, "end").then(async () => {
      const { promise, resolve } = everybody;
      if (++asked % tasks === 0) {
        everybody = Promise.withResolvers();
        resolve();
      }
      await promise;
      outgoing.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      outgoing.end(answer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    bytes: answer.length,
    inputBytes: () => inputBytes,
    close: () => server.closeAllConnections(),
  };
}

const tempDir = await mkdtemp(join(tmpdir(), "answers-"));
process.once("exit", () => rmSync(tempDir, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

const configPath = join(root, "wrangler.toml");
const script = await bundle(configPath, "src/worker.ts", join(tempDir, "bundle"));
const upstream = await startUpstream();
const bucket = await startBucket();
const server = await startServer(tempDir, {
  configPath,
  script,
  consumes: true,
  bindings: { ...gatewayBindings, OPENAI_API_KEY: "bench", OPENAI_BASE_URL: upstream.url, ALLOW_PRIVATE_NETWORK: "on" },
  heapMB,
  bucket: bucket.address,
});
const client = new Client(server.url);
const failures: string[] = [];

async function run(headers: Record<string, string>, inputs: string[]): Promise<string[]> {
  const body = JSON.stringify({ model: "imgB-4o-image", prompt: "Four of them", n: images, images: inputs });
  const ids: string[] = [];
  for (let number = 0; number < tasks; number++)
    ids.push(readTaskId(await client.send({ method: "POST", path: "/v1/images/generations", headers, body })));
  // One consumer takes the first task; the objects start the others after ten seconds, and only then does the upstream answer.
  const statuses = async () => {
    const answers = await Promise.all(ids.map((id) => client.send({ method: "GET", path: `/v1/tasks/${id}`, headers })));
    return answers.map(readStatus);
  };
  for (const end = Date.now() + longestMs; Date.now() < end; await sleep(250))
    if ((await statuses()).every((status) => status === "completed" || status === "failed")) break;
  return statuses();
}

/** Runs ten tasks with these images as inputs. */
async function measure(label: string, headers: Record<string, string>, inputs: string[]): Promise<void> {
  const before = await cpuUs(server.processes);
  const countStored = () => [...bucket.files.values()].filter(({ bytes }) => bytes.length === imageBytes).length;
  const storedBefore = countStored();
  const { result, maxMiB } = await heapDuring(server.inspectorUrl, () => run(headers, inputs));
  console.log(
    `${label}: ${tasks} answers of ${(upstream.bytes / 1e6).toFixed(1)} MB at once: the isolate holds ${maxMiB} MiB at most, objects and buffers`,
  );
  const cpuMs = ((await cpuUs(server.processes)) - before) / 1000 / tasks;
  console.log(`  CPU ${Math.round(cpuMs)} ms a task, the local runtime's own work included`);
  if (maxMiB >= heapMB) failures.push(`${label}: the isolate held ${maxMiB} MiB, not below ${heapMB}`);
  if (result.some((status) => status !== "completed")) failures.push(`${label}: tasks ended as ${result.join(", ")}`);
  const stored = countStored() - storedBefore;
  if (stored !== tasks * images) failures.push(`${label}: ${stored} images are stored, not ${tasks * images}`);
}

try {
  const headers = await freshHeaders(client);
  await measure("Base64 answers", headers, []);
  const sent = upstream.inputBytes();
  await measure(
    "images by URL",
    headers,
    Array.from({ length: images }, (_, at) => `${upstream.url}/input-${at}.png`),
  );
  if (upstream.inputBytes() - sent < tasks * images * imageBytes) failures.push("not all images given by URL reached the upstream");
  // When an isolate's heap is full, workerd ends and miniflare starts another: the same process id means the same isolate.
  const alive = (await processesBelow(process.pid)).filter((pid) => server.processes.includes(pid));
  if (alive.length !== server.processes.length) failures.push("workerd died");
} finally {
  client.close();
  await server.stop();
  bucket.close();
  upstream.close();
}
for (const failure of failures) console.error(failure);
process.exit(failures.length > 0 ? 1 : 0);
