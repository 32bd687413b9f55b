/** A process that sends small requests one after the other and tells how long each took: the sender of large bodies must not slow it down. */

import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { largeBody, send } from "./client.ts";

/** Where small requests go, and what their bodies say beside one small image. */
export interface ProbeOptions {
  url: string;
  headers?: Record<string, string>;
  fields: Record<string, unknown>;
}

const file = fileURLToPath(import.meta.url);

/** Sends small requests until `work` is done: the milliseconds each took, in order of length. */
export async function probeBeside<T>(options: ProbeOptions, work: () => Promise<T>): Promise<{ result: T; waits: number[] }> {
  const child = fork(file, [JSON.stringify(options)], { execArgv: ["--no-warnings"] });
  const message = () =>
    new Promise<number[]>((resolve, reject) => {
      child.once("message", (waits) => resolve(waits as number[]));
      child.once("exit", (code) => reject(new Error(`the probe ended (exit code ${code})`)));
    });
  await message();
  const result = await work();
  const waits = message();
  child.send("stop");
  return { result, waits: (await waits).sort((a, b) => a - b) };
}

const [, script, options = ""] = process.argv;
if (script === file) {
  const { url, headers = {}, fields } = JSON.parse(options) as ProbeOptions;
  const body = largeBody({ fields, images: 1, imageBytes: 300 });
  const over = new AbortController();
  process.once("message", () => over.abort());
  for (let warmUp = 0; warmUp < 5; warmUp++) await send(url, body, { headers });
  process.send!([]);
  const waits: number[] = [];
  while (!over.signal.aborted) {
    waits.push((await send(url, body, { headers }))!.ms);
    await new Promise((done) => setTimeout(done, 10));
  }
  process.send!(waits);
  process.disconnect();
}
