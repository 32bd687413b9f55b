/** A process that sends small requests one after the other and reports their durations, undisturbed by the sender of large bodies. */

import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "../load.ts";

/** The URL and paths of the small requests, used in turn. */
export interface ProbeOptions {
  url: string;
  headers: Record<string, string>;
  paths: string[];
}

const file = fileURLToPath(import.meta.url);
const pauseMs = 5;

/** Sends small requests until `work` is done: their durations in milliseconds, sorted. Throws if a request fails. */
export async function probeBeside<T>(options: ProbeOptions, work: () => Promise<T>): Promise<{ result: T; waits: number[] }> {
  const child = fork(file, [JSON.stringify(options)], { execArgv: ["--no-warnings"] });
  const message = () =>
    new Promise<number[]>((resolve, reject) => {
      child.once("message", (waits) => resolve(waits as number[]));
      child.once("exit", (code) => reject(new Error(`the probe ended (exit code ${code})`)));
    });
  await message();
  const waits = message();
  const result = await Promise.race([work(), waits.then(() => Promise.reject(new Error("the probe stopped early")))]);
  child.send("stop");
  return { result, waits: (await waits).sort((a, b) => a - b) };
}

const [, script, options = ""] = process.argv;
if (script === file) {
  const { url, headers, paths } = JSON.parse(options) as ProbeOptions;
  const client = new Client(url);
  const over = new AbortController();
  process.once("message", () => over.abort());
  for (const path of paths) await client.send({ method: "GET", path, headers });
  process.send?.([]);
  const waits: number[] = [];
  for (let sent = 0; !over.signal.aborted; sent++, await sleep(pauseMs)) {
    const start = performance.now();
    await client.send({ method: "GET", path: paths[sent % paths.length] ?? "/", headers });
    waits.push(performance.now() - start);
  }
  process.send?.(waits);
  client.close();
  process.disconnect();
}
