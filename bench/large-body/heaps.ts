/** Sends large bodies, one and several at once, to a gateway with the OpenAI Worker behind it, and measures the isolate of each. */

import { join } from "node:path";
import { bundle, root } from "../build.ts";
import { freshHeaders, gatewayBindings } from "../calls.ts";
import { Client } from "../load.ts";
import { startServer } from "../server.ts";
import { startBucket } from "./bucket.ts";
import { type LargeBody, noise, send } from "./client.ts";
import { heapDuring } from "./heap.ts";
import { makeTempDir, must, report } from "./limits.ts";

export const MiB = 1024 * 1024;

/** A body and where it is sent. */
export interface Sent {
  /** What the body is, for the printed line. */
  name: string;
  path: string;
  /** `application/json` by default. */
  headers?: Record<string, string>;
  body: LargeBody;
}

export const toBody = (pieces: Buffer[]): LargeBody => ({
  length: pieces.reduce((sum, piece) => sum + piece.length, 0),
  *pieces() {
    for (const piece of pieces) for (let at = 0; at < piece.length; at += 256 * 1024) yield piece.subarray(at, at + 256 * 1024);
  },
});

export const toJson = (value: object) => toBody([Buffer.from(JSON.stringify(value))]);

/** A PNG by its first bytes. */
export function image(bytes: number): Uint8Array {
  const file = noise(bytes);
  file.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return file;
}

export const dataUri = (bytes: number) => `data:image/png;base64,${Buffer.from(image(bytes)).toString("base64")}`;

const heapMB = 128;
const counts = [1, 5, 10];

/** Sends each body one, five and ten times at once, each time for another account, and prints what the isolates held. */
export async function withinHeaps(bodies: Sent[]): Promise<void> {
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
  await report({ client, server, bucket }, async () => {
    const keys = await Promise.all(Array.from({ length: Math.max(...counts) }, (_, at) => freshHeaders(client, `bench-${at}@example.com`)));
    for (const one of bodies) {
      for (const count of counts) {
        const title = `${one.path}, ${one.name} of ${(one.body.length / MiB).toFixed(1)} MiB, ${count} at once`;
        const work = () =>
          Promise.all(keys.slice(0, count).map((key) => send(server.url + one.path, one.body, { headers: { ...key, ...one.headers } })));
        const { result, maxMiB: behind } = await heapDuring(server.openaiInspectorUrl, () => heapDuring(server.inspectorUrl, work));
        const { result: answers, maxMiB: front } = result;
        const statuses = answers.map((answer) => answer?.status ?? 0);
        console.log(`${title}: OpenAI Worker ${behind} MiB at most, gateway ${front} MiB; ${statuses.join(", ")}`);
        must(Math.max(behind, front) < heapMB, `${title}: an isolate held ${Math.max(behind, front)} MiB, not below ${heapMB}`);
        must(
          // A refusal may be lost when its connection closes on what was not read.
          answers.every(
            (answer) =>
              answer?.status === 200 || (count > 1 && answer?.status === 0) || (answer?.status === 503 && answer.headers["retry-after"]),
          ),
          `${title}: an answer is neither 200 nor 503 with Retry-After`,
        );
        must(statuses.includes(200), `${title}: none was accepted`);
      }
    }
  });
}
