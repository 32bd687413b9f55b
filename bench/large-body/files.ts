/**
 * `npm run bench -- files`: the CPU time of storing a video of 100 MB with the gateway's code and with a bare `put`, and of its SHA-256 alone;
 * and with the gateway's code and a signature; the same of an image of 4 MB; then of a range of 1 MB through the gateway and with a bare read. Each
 * taking turns. Then the memory of an isolate that signs one such video, and four at once. Exits 1 if a limit is exceeded; takes about five minutes at most.
 */

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { listen } from "../../scripts/support/port.ts";
import { newTestChain } from "../../scripts/support/test-chain.ts";
import { median, spread } from "../comparison.ts";
import { canReadCpu } from "../process-tree.ts";
import { heapDuring } from "./heap.ts";
import { heapMB, startMeasured } from "./measured.ts";

const videoBytes = 100_000_000;
const imageBytes = 4_000_000;
const rangeBytes = 1_000_000;
/** Images of a kind in a round. */
const imageTimes = 5;
/** Ranges of a kind in a round, one after the other. */
const ranges = 50;
/** A measurement takes no further rounds after this time, but at least this many. */
const maxMeasureMs = 90_000;
const minRounds = 5;

if (!canReadCpu) throw new Error("processor time is read from /proc, which only Linux has");

/** What a signature may cost: the CPU of a video as a ratio to storing it, and of an image in milliseconds beyond storing it. */
const [maxVideoRatio, maxImageMs] = [1.6, 15];
const gateway = await startMeasured({ entry: "bench/large-body/files-worker.ts", bindings: await newTestChain(), heapMB });
const { url } = gateway.server;
const file = Buffer.alloc(videoBytes, "a video is not compressible, this text is, and R2 does not look");
file.set([0, 0, 0, 16, ...Buffer.from("ftypisom"), 0, 0, 0, 0]);
file.writeUInt32BE(videoBytes - 16, 16);
file.write("mdat", 20);
const image = Buffer.alloc(imageBytes, "an image");
image.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, ...Buffer.from("IHDR")]);
const upstream = createServer(({ url: path }, response) => {
  const served = path === "/image" ? image : file;
  response.writeHead(200, { "content-length": served.length }).end(served);
});
const from = `http://${await listen(upstream)}/`;

async function times(count: number, work: () => Promise<void>): Promise<void> {
  for (let at = 0; at < count; at++) await work();
}

async function store(way: "bare" | "hash" | "gateway"): Promise<void> {
  const answer = await (await fetch(`${url}/store/${way}?from=${from}&length=${videoBytes}`)).text();
  if (answer !== String(videoBytes) || (way !== "hash" && !gateway.bucket.files.get(way)?.bytes.equals(file)))
    throw new Error(`${way}: the stored file is another: ${answer}`);
  await sleep(50);
}

/** Stores a file with a signature, or an image with and without. The signed video begins with the upstream's bytes. */
async function storeAs(way: "signed" | "image" | "signed-image"): Promise<void> {
  const [name, type, original] = way === "signed" ? ["", "video/mp4", file] : ["image", "image/png", image];
  const answer = await (await fetch(`${url}/store/${way}?from=${from}${name}&type=${type}&length=${original.length}`)).text();
  const stored = gateway.bucket.files.get(way)?.bytes;
  const isLonger = way !== "image" && stored !== undefined && stored.length > original.length;
  if (answer !== String(stored?.length) || !(way === "image" || isLonger)) throw new Error(`${way}: ${answer}`);
  if (way === "signed" && !stored?.subarray(0, original.length).equals(original))
    throw new Error("the signed video does not begin with the bytes of the upstream's video");
  await sleep(50);
}

async function readRanges(way: string, address: string): Promise<void> {
  for (let number = 0; number < ranges; number++) {
    const start = number * rangeBytes;
    const answer = await fetch(address, { headers: { range: `bytes=${start}-${start + rangeBytes - 1}` } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (answer.status !== 206 || !bytes.equals(file.subarray(start, start + rangeBytes)))
      throw new Error(`${way}: ${answer.status} with ${bytes.length} bytes, not the range from ${start}`);
  }
  await sleep(20);
}

interface Measure<Way extends string> {
  what: string;
  rounds: number;
  /** How often each way does it in a round. */
  times: number;
  ways: Record<Way, () => Promise<void>>;
}

/** Measures the ways in turn, after one warm-up of each, and prints the microseconds of each. Returns those of every round. */
async function measure<Way extends string>({ what, rounds, times, ways }: Measure<Way>): Promise<Record<Way, number>[]> {
  const names = Object.keys(ways) as Way[];
  const turns: Record<Way, number>[] = [];
  const end = Date.now() + maxMeasureMs;
  for (let round = -1; round < rounds && (round < minRounds || Date.now() < end); round++) {
    const turn = {} as Record<Way, number>;
    for (const name of names) turn[name] = (await gateway.usedIn(ways[name])).us / times;
    if (round >= 0) turns.push(turn);
  }
  for (const name of names) {
    const us = turns.map((turn) => turn[name]);
    console.log(`${name}: ${spread(us, 0)} us of CPU for ${what}, ${turns.length} rounds`);
  }
  return turns;
}

const printRatio = (name: string, ratios: number[]) => console.log(`${name}: ${spread(ratios, 2)}`);

await gateway.measure(async () => {
  const ways = { bare: () => store("bare"), hash: () => store("hash"), gateway: () => store("gateway"), signed: () => storeAs("signed") };
  const stored = await measure({ what: "100 MB", rounds: 12, times: 1, ways });
  printRatio("(bare + hash) / bare", stored.map(({ bare, hash }) => (bare + hash) / bare)); // prettier-ignore
  printRatio("gateway / bare", stored.map(({ bare, gateway }) => gateway / bare)); // prettier-ignore
  const videos = stored.map(({ signed, gateway }) => signed / gateway);
  printRatio("signed / gateway", videos);
  gateway.must(median(videos) <= maxVideoRatio, `a signed video takes more than ${maxVideoRatio} times the CPU of storing it`);
  const imageWays = {
    image: () => times(imageTimes, () => storeAs("image")),
    signed: () => times(imageTimes, () => storeAs("signed-image")),
  };
  const images = await measure({ what: "an image of 4 MB", rounds: 12, times: imageTimes, ways: imageWays });
  const signatureMs = median(images.map(({ image, signed }) => (signed - image) / 1000));
  console.log(`the signature of an image: ${signatureMs.toFixed(1)} ms of CPU`);
  gateway.must(signatureMs <= maxImageMs, `the signature of an image takes more than ${maxImageMs} ms of CPU`);
  const bare = `${url}/bare/assets/bench/0.mp4`;
  const signed = await (await fetch(bare, { method: "PUT", body: file })).text();
  const readers = { bare: () => readRanges("bare", bare), gateway: () => readRanges("gateway", signed) };
  const read = await measure({ what: "a range of 1 MB", rounds: 20, times: ranges, ways: readers });
  printRatio("gateway / bare", read.map(({ bare, gateway }) => gateway / bare)); // prettier-ignore
  for (const videos of [1, 4]) {
    const { maxMiB } = await heapDuring(gateway.server.inspectorUrl, () =>
      Promise.all(Array.from({ length: videos }, () => storeAs("signed"))),
    );
    console.log(
      `signing ${videos === 1 ? "one video" : `${videos} videos at once`}: the isolate holds ${maxMiB} MiB at most, objects and buffers`,
    );
    gateway.must(maxMiB < heapMB, `signing ${videos} videos at once: the isolate held ${maxMiB} MiB, not below ${heapMB}`);
  }
  upstream.closeAllConnections();
  upstream.close();
});
