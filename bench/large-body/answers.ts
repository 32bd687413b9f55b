/**
 * `npm run bench -- answers`: ten tasks at once, each with an answer of four 4.5 MB images in Base64, then ten tasks that also have four
 * such input images by URL, in an isolate of 128 MB. Exits 1 if a limit is exceeded.
 */

import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "../../scripts/support/port.ts";
import { freshHeaders, readStatus, readTaskId } from "../calls.ts";
import { image } from "./client.ts";
import { heapDuring } from "./heap.ts";
import { heapMB, startMeasured } from "./measured.ts";

const tasks = 10;
const images = 4;
const imageBytes = 4_500_000;
const longestMs = 90_000;

/** An image upstream that waits for this many requests and then answers them together, which is the worst case. It also serves the callers' images. */
async function startUpstream() {
  const file = image(imageBytes);
  const encoded = JSON.stringify({ b64_json: Buffer.from(file).toString("base64") });
  const answer = Buffer.from(`{"data":[${Array.from({ length: images }, () => encoded).join(",")}],"output_format":"png"}`);
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
  return {
    url: `http://${await listen(server)}/v1`,
    bytes: answer.length,
    inputBytes: () => inputBytes,
    close: () => (server.close(), server.closeAllConnections()),
  };
}

const upstream = await startUpstream();
const bindings = { OPENAI_API_KEY: "bench", OPENAI_BASE_URL: upstream.url, ALLOW_PRIVATE_NETWORK: "on" };
const { server, client, bucket, must, usedIn, measure } = await startMeasured({ bindings, heapMB });

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

/** Measures ten tasks with these images as inputs. */
async function measureTasks(label: string, headers: Record<string, string>, inputs: string[]): Promise<void> {
  const countStored = () => [...bucket.files.values()].filter(({ bytes }) => bytes.length === imageBytes).length;
  const storedBefore = countStored();
  const { result, us } = await usedIn(() => heapDuring(server.inspectorUrl, () => run(headers, inputs)));
  const { result: statuses, maxMiB } = result;
  console.log(
    `${label}: ${tasks} answers of ${(upstream.bytes / 1e6).toFixed(1)} MB at once: the isolate holds ${maxMiB} MiB at most, objects and buffers`,
  );
  console.log(`  CPU ${Math.round(us / 1000 / tasks)} ms a task, the local runtime's own work included`);
  must(maxMiB < heapMB, `${label}: the isolate held ${maxMiB} MiB, not below ${heapMB}`);
  must(!statuses.some((status) => status !== "completed"), `${label}: tasks ended as ${statuses.join(", ")}`);
  const stored = countStored() - storedBefore;
  must(stored === tasks * images, `${label}: ${stored} images are stored, not ${tasks * images}`);
}

await measure(async () => {
  const headers = await freshHeaders(client);
  await measureTasks("Base64 answers", headers, []);
  const sent = upstream.inputBytes();
  const inputs = Array.from({ length: images }, (_, at) => `${upstream.url}/input-${at}.png`);
  await measureTasks("images by URL", headers, inputs);
  must(upstream.inputBytes() - sent >= tasks * images * imageBytes, "not all images given by URL reached the upstream");
});
upstream.close();
