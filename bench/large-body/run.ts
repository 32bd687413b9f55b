/** What a body of 69.9 MB with five images costs in an isolate of 128 MB: processor time, memory, and the waiting of small requests beside it. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundle, root } from "../build.ts";
import { type Answer, largeBody, send } from "./client.ts";
import { probeBeside } from "./probe.ts";
import { type Server, start } from "./server.ts";

const configPath = join(root, "bench/large-body/wrangler.toml");
const fields = { model: "vidC-1", prompt: "a cat" };
const body = largeBody({ fields });
const small = largeBody({ fields, images: 1, imageBytes: 300 });

const isolateOf = (answer: Answer) => (JSON.parse(answer.text) as { isolate?: string }).isolate;

/** Processor time and memory of some bodies; gives their answers. */
async function measure(server: Server, title: string, work: () => Promise<Answer[]>): Promise<void> {
  const before = await server.cpuMs();
  const answers = await work();
  const cpu = (await server.cpuMs()) - before;
  const { now, most } = await server.memoryMB();
  console.log(`${title}: ${answers.map(({ status, ms }) => `${status} in ${Math.round(ms)} ms`).join(", ")}`);
  console.log(`  CPU ${Math.round(cpu / answers.length)} ms a body; memory ${now} MB, most so far ${most} MB`);
  if (answers.some(({ status }) => status !== 200)) process.exitCode = 1;
}

async function measureStore(server: Server, store: string): Promise<void> {
  const url = `${server.url}/${store}`;
  const one = async (options?: { isChunked: boolean }) => [(await send(url, body, options))!];
  const first = isolateOf((await send(server.url, small))!);
  console.log(`\nImages go to ${store}; memory at the start ${(await server.memoryMB()).now} MB`);
  for (let turn = 1; turn <= 3; turn++) await measure(server, `one body, turn ${turn}`, one);
  await measure(server, "one body in chunks", () => one({ isChunked: true }));
  const five = async () => (await Promise.all(Array.from({ length: 5 }, () => one()))).flat();
  const alone = (await probeBeside({ url, fields }, () => new Promise((done) => setTimeout(done, 500)))).waits;
  console.log(`small requests alone: ${percentiles(alone)}`);
  for (const [title, work] of [["one body", one] as const, ["five bodies at once", five] as const]) {
    const { waits } = await probeBeside({ url, fields }, () => measure(server, title, () => work()));
    console.log(`  small requests meanwhile: ${percentiles(waits)}`);
  }
  await send(url, body, { breakAfter: body.length / 2 });
  await new Promise((done) => setTimeout(done, 1000));
  console.log(`after a client that stopped half-way: ${await (await fetch(`${server.url}/broken`)).text()}`);
  const last = isolateOf((await send(server.url, small))!);
  console.log(first === last ? "the isolate lives" : "THE ISOLATE DIED");
  if (first !== last) process.exitCode = 1;
}

const percentiles = (waits: number[]) =>
  [0.5, 0.95, 1]
    .map((share) => `${share * 100} % within ${waits[Math.ceil(share * waits.length) - 1]?.toFixed(1)} ms`)
    .concat(`${waits.length} of them`)
    .join(", ");

const tempDir = await mkdtemp(join(tmpdir(), "large-body-"));
try {
  const script = await bundle(configPath, "worker.ts", join(tempDir, "bundle"));
  for (const store of ["nowhere", "r2"]) {
    const server = await start(configPath, script, join(tempDir, store), 128);
    try {
      await measureStore(server, store);
    } finally {
      await server.stop();
    }
  }
} finally {
  await rm(tempDir, { recursive: true, force: true });
}
