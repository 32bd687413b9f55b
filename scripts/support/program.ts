/** What programs with a gateway of their own share: the end by a signal, the printed fault, temporary state. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, type GatewayOptions, startGateway } from "./gateway.ts";
import { stopSignal } from "./stop-signal.ts";

/** Runs a program to its end; a fault is printed, with exit code 1. The signal aborts when the program should end early. */
export async function runToEnd(work: (stopping: AbortSignal) => Promise<void>): Promise<void> {
  const stopping = stopSignal();
  try {
    await work(stopping);
  } catch (error) {
    console.error(stopping.aborted ? "Interrupted." : error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
  // Pending requests of an interrupted run must not keep the process alive.
  if (stopping.aborted) process.exit();
}

/** Rejects when the signal aborts. */
export function interruption(signal: AbortSignal): Promise<never> {
  return new Promise((_, fail) => {
    const stop = () => fail(new Error("interrupted"));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
  });
}

/** Runs the work with a new gateway, whose state is in a temporary folder; both are gone when the work has ended or the signal aborts. */
export async function withGateway<T>(
  name: string,
  { signal, env = {} }: Required<Pick<GatewayOptions, "signal">> & Pick<GatewayOptions, "env">,
  work: (gateway: Gateway, stateDir: string) => Promise<T>,
): Promise<T> {
  const stateDir = await mkdtemp(join(tmpdir(), `gateway-${name}-`));
  try {
    const gateway = await startGateway({ stateDir, env, quiet: true, signal });
    try {
      return await Promise.race([work(gateway, stateDir), interruption(signal)]);
    } finally {
      await gateway.stop();
    }
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}
