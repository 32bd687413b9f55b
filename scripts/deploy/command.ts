/** Shared by `npm run deploy` and `npm run destroy`: ending by signal, error messages, a question on the terminal. */

import { createInterface } from "node:readline/promises";
import { stopSignal } from "../support/stop-signal.ts";
import { toStop } from "./api.ts";

/** Runs a command to its end; a fault is printed as its reason and remedy, with exit code 1. */
export async function runCommand(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = stopSignal();
  try {
    await work(stopping);
  } catch (error) {
    process.exitCode = 1;
    if (stopping.aborted) console.error("\nInterrupted. Run the same command again: it continues where it stopped.");
    else {
      const { message, remedy } = toStop(error);
      console.error(`\n${message}\n→ ${remedy}`);
    }
  }
  // Pending requests of an interrupted run must not keep the process alive.
  if (stopping.aborted) process.exit();
}

/** Asks a question on the terminal; an interrupted question has the answer "". Returns undefined without a terminal. */
export async function ask(question: string, signal: AbortSignal): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return (await terminal.question(question, { signal })).trim();
  } catch (error) {
    if (!signal.aborted && (error as Error).name === "AbortError") return "";
    throw error;
  } finally {
    terminal.close();
  }
}
