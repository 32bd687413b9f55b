/** Starts other programs, waits for them, and ends them by their process ids. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const maxStartMs = 120_000;
const maxStopMs = 5_000;

/** How a program is started. */
export interface Command {
  file: string;
  args: string[];
  env?: Record<string, string>;
}

export interface Program {
  child: ChildProcess;
  url: string;
  /** Milliseconds from its start to its first answer. */
  startMs: number;
  stop: () => Promise<void>;
}

/** Resolves with true if the port gives an HTTP answer, whatever its status. */
const answers = (port: number, path: string) =>
  new Promise<boolean>((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false }, (response) => {
      response.resume();
      response.on("end", () => resolve(true));
    });
    asked.on("error", () => resolve(false));
    asked.end();
  });

/** Starts a program and waits until it answers at this path. Throws if it ends before, or does not answer within two minutes. */
export async function start({ file, args, env }: Command, port: number, path: string): Promise<Program> {
  const began = performance.now();
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: "ignore" });
  let fault: Error | undefined;
  child.once("error", (error) => (fault = error));
  const end = () => void child.kill("SIGKILL");
  process.once("exit", end);
  const stop = async () => {
    process.off("exit", end);
    if (fault || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGTERM");
    const late = setTimeout(end, maxStopMs);
    await exit;
    clearTimeout(late);
  };
  while (!(await answers(port, path))) {
    const hasEnded = fault !== undefined || child.exitCode !== null;
    if (hasEnded || performance.now() - began > maxStartMs) {
      await stop();
      throw new Error(hasEnded ? `it ended at once (${fault?.message ?? child.exitCode})` : "it did not answer in two minutes");
    }
    await sleep(2);
  }
  return { child, url: `http://127.0.0.1:${port}`, startMs: performance.now() - began, stop };
}
