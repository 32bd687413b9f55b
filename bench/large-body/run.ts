/** `npm run bench -- large-body`: bodies of 69.9 MB with five images to a gateway in an isolate of 128 MB, then other large bodies. Exits 1 if a limit is exceeded. */

import { setTimeout as sleep } from "node:timers/promises";
import { freshHeaders, readTaskId } from "../calls.ts";
import { canReadCpu, residentMiB } from "../process-tree.ts";
import { measureBodies } from "./bodies.ts";
import { type Answer, isRight, send, toBody, toDataUri } from "./client.ts";
import { heapDuring } from "./heap.ts";
import { heapMB, MiB, startMeasured } from "./measured.ts";
import { probeBeside } from "./probe.ts";

const maxCpuMs = 500;
const maxWaitMs = 100;
const together = 5;

if (!canReadCpu) throw new Error("processor time is read from /proc, which only Linux has");
const { server, client, bucket, must, usedIn, measure } = await startMeasured({ heapMB });
const headers = await freshHeaders(client);
const url = `${server.url}/v1/images/generations`;
/** The largest number and size of images that the gateway accepts, all the same image. */
const inline = Buffer.from(JSON.stringify(toDataUri(10 * MiB)));
const comma = Buffer.from(",");
const head = Buffer.from('{"model":"imgA-4","prompt":"Five images as one","n":1,"images":[');
const body = toBody([head, inline, comma, inline, comma, inline, comma, inline, comma, inline, Buffer.from("]}")]);
const probe = { url: server.url, headers, paths: ["/healthz", "/v1/models", "/v1/balance"] };

/** Sends bodies at once and waits for their tasks: the submissions' answers and the final tasks. */
async function submit(count: number, options: { isChunked?: boolean } = {}) {
  const answers = (await Promise.all(Array.from({ length: count }, () => send(url, body, { headers, ...options })))) as Answer[];
  const ids = answers.filter(({ status }) => status === 200).map(({ text }) => readTaskId(text));
  const tasks = await Promise.all(
    ids.map((id) => client.send({ method: "GET", path: `/v1/tasks/${id}?wait=30`, headers }).then((text) => JSON.parse(text))),
  );
  return { answers, tasks };
}

/** Measures bodies from the first byte to the end of their tasks, minus the idle cost of the same time. */
async function measureTasks(title: string, work: () => ReturnType<typeof submit>): Promise<void> {
  const idleUs = (await usedIn(() => sleep(1000))).us / 1000;
  const began = performance.now();
  const { us, result } = await usedIn(work);
  const ms = performance.now() - began;
  const cpuMs = (us - idleUs * ms) / 1000 / result.answers.length;
  console.log(`${title}: ${result.answers.map((one) => `${one.status} in ${Math.round(one.ms)} ms`).join(", ")}`);
  console.log(`  CPU ${Math.round(cpuMs)} ms a body with its task; memory of workerd ${await memory()}`);
  must(cpuMs < maxCpuMs, `${title}: ${Math.round(cpuMs)} ms of CPU a body, not below ${maxCpuMs}`);
  must(
    result.answers.every((answer) => isRight(answer, result.answers.length)),
    `${title}: an answer is neither 200 nor 503 with Retry-After`,
  );
  must(result.tasks.length > 0, `${title}: no body was accepted`);
  must(
    result.tasks.every((task) => task.data.status === "completed"),
    `${title}: a task did not complete`,
  );
  await inputsAreGone(title);
}

const inputs = () => [...bucket.files.keys()].filter((key) => key.startsWith("inputs/")).length;

async function inputsAreGone(title: string): Promise<void> {
  for (let tries = 0; inputs() > 0 && tries < 50; tries++) await sleep(100);
  must(inputs() === 0, `${title}: ${inputs()} inputs stay in the bucket`);
}

/** All isolates, including the simulators of queue, database and objects. */
async function memory(): Promise<string> {
  const [now, peak] = [await residentMiB(server.processes), await residentMiB(server.processes, "VmHWM")];
  return `${now.toFixed(0)} MiB, at most ${peak.toFixed(0)} MiB so far`;
}

/** The durations of small requests during the work. Other programs on the machine delay them too: use a quiet machine. */
async function probed(title: string, work: () => Promise<unknown>): Promise<void> {
  const { waits } = await probeBeside(probe, work);
  const within = (share: number) => waits[Math.ceil(share * waits.length) - 1] ?? NaN;
  const [p50, p95, longest] = [0.5, 0.95, 1].map((share) => `${within(share).toFixed(1)} ms`);
  console.log(`  small requests ${title}: p50 ${p50}, p95 ${p95}, most ${longest}, ${waits.length} of them`);
  must(within(1) < maxWaitMs, `small requests ${title}: one took ${longest}, not below ${maxWaitMs} ms`);
}

/** The memory that the platform counts against the isolate's 128 MB. */
async function held(count: number): Promise<void> {
  const { maxMiB } = await heapDuring(server.inspectorUrl, () => submit(count));
  console.log(`${count} bodies at once: the isolate holds ${maxMiB} MiB at most, objects and buffers`);
  must(maxMiB < heapMB, `${count} bodies at once: the isolate held ${maxMiB} MiB, not below ${heapMB}`);
}

await measure(async () => {
  console.log(`${(body.length / 1e6).toFixed(1)} MB a body; memory of workerd ${await memory()}`);
  for (let turn = 1; turn <= 3; turn++) await measureTasks(`one body, turn ${turn}`, () => submit(1));
  await measureTasks("one body in chunks", () => submit(1, { isChunked: true }));
  await measureTasks(`${together} bodies at once`, () => submit(together));
  await probed("alone", () => sleep(1000));
  await probed("beside one body", () => submit(1));
  await probed(`beside ${together} bodies`, () => submit(together));
  await held(together);
  await held(2 * together);
  await send(url, body, { headers, breakAfter: body.length / 2 });
  must(inputs() > 0, "a client that stopped half-way: nothing had been stored");
  await inputsAreGone("a client that stopped half-way");
  await measureTasks("one body after all that", () => submit(1));
});
await measureBodies();
