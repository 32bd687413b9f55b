/** Runs one of the project's scripts as a process of its own, and finds every process that it started. */

import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A running script. */
export interface RunningScript {
  process: ChildProcess;
  /** Its output so far, both streams. */
  output(): string;
  /** Resolves with the exit code, null after a signal. */
  exited: Promise<number | null>;
}

/** Starts a script with these variables added to the environment. */
export function runScript(script: string, variables: Record<string, string>, ...options: string[]): RunningScript {
  const child = spawn(process.execPath, [script, ...options], {
    cwd: root,
    env: { ...process.env, ...variables },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exited = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { process: child, output: () => output, exited };
}

/** Waits until the output matches the pattern, and returns the first group. */
export async function printed(script: RunningScript, pattern: RegExp, withinMs: number): Promise<string> {
  let ended = false;
  void script.exited.then(() => (ended = true));
  for (const deadline = Date.now() + withinMs; Date.now() < deadline; await sleep(50)) {
    const match = pattern.exec(script.output());
    if (match) return match[1] ?? match[0];
    if (ended) break;
  }
  throw new Error(`${String(pattern)} was not printed:\n${script.output()}`);
}

/** The processes of these that are still alive after at most `withinMs`. */
export async function survivors(processes: { pid: number; command: string }[], withinMs: number): Promise<string[]> {
  const alive = () => processes.filter(({ pid }) => isAlive(pid)).map(({ command }) => command);
  for (const deadline = Date.now() + withinMs; Date.now() < deadline && alive().length > 0;) await sleep(100);
  return alive();
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // EPERM cannot occur, because only our own children are checked: the process has ended.
    return false;
  }
}
