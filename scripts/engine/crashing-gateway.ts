/** The gateway of a run: started, killed at once with all of its processes, restarted on its state. */

import { appendFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway, type Gateway } from "../support/gateway.ts";
import { claimPort, host } from "../support/port.ts";
import { interruption } from "../support/program.ts";

/** One crash: when the gateway was killed, and when it answered again. */
export interface Crash {
  at: number;
  upAt: number;
}

/** A gateway that always uses the same address while it runs. */
export class CrashingGateway {
  readonly baseUrl: string;
  /** The persistent state. */
  readonly stateDir: string;
  /** The log of all its lives: a process's last lines show why it ended. */
  readonly logFile: string;
  readonly crashes: Crash[] = [];
  /** How many times it has ended unexpectedly. */
  unaskedEnds = 0;
  /** True while it accepts requests. */
  isUp = false;
  /** The operator's token. */
  adminToken = "";
  readonly #signal: AbortSignal;
  readonly #port: number;
  #life: Promise<Gateway> | undefined;

  /** `directory` is that of the state and the log. */
  constructor(directory: string, port: number, signal: AbortSignal) {
    this.#signal = signal;
    this.#port = port;
    this.baseUrl = `http://${host}:${port}`;
    this.stateDir = join(directory, "state");
    this.logFile = join(directory, "gateway.log");
  }

  async start(): Promise<void> {
    const onLine = (line: string) => appendFileSync(this.logFile, `${line}\n`);
    onLine(`\n=== life ${this.crashes.length + 1} (${new Date().toISOString()})`);
    const options = { port: this.#port, stateDir: this.stateDir, env: { RATE_LIMITS: "off" }, quiet: true, onLine, signal: this.#signal };
    this.#life = startGateway(options);
    const { adminToken, exited } = await this.#life;
    this.adminToken = adminToken;
    this.isUp = true;
    void exited.then(() => {
      if (this.isUp) this.unaskedEnds++;
    });
  }

  /** Kills all of its processes at once. */
  async kill(): Promise<void> {
    this.isUp = false;
    this.crashes.push({ at: Date.now(), upAt: Number.POSITIVE_INFINITY });
    await (await this.#life)?.kill();
  }

  /** Restarts it on the state after the crash; returns the crash. Throws if there was none. */
  async restart(): Promise<Crash> {
    const crash = this.crashes.at(-1);
    if (!crash) throw new Error("the gateway was not killed");
    await this.start();
    crash.upAt = Date.now();
    return crash;
  }

  /** Stops it cleanly, also one that comes up just now. */
  async stop(): Promise<void> {
    this.isUp = false;
    await (await this.#life?.catch(() => undefined))?.stop();
  }
}

/**
 * Runs the work with a new gateway, whose state and log are in a temporary folder, and returns the faults that the work found. The folder is
 * kept for inspection if there are any, or the work throws.
 */
export async function withCrashingGateway(
  name: string,
  signal: AbortSignal,
  work: (gateway: CrashingGateway) => Promise<string[]>,
): Promise<string[]> {
  const directory = await mkdtemp(join(tmpdir(), `gateway-${name}-`));
  // A killed runtime leaves temporary files: they are deleted with the folder.
  process.env["TMPDIR"] = directory;
  const gateway = new CrashingGateway(directory, await claimPort(0), signal);
  let isRight = false;
  try {
    await gateway.start();
    const faults = await Promise.race([work(gateway), interruption(signal)]);
    isRight = faults.length === 0;
    return faults;
  } finally {
    await gateway.stop();
    if (isRight || signal.aborted) await rm(directory, { recursive: true, force: true });
    else console.error(`The gateway's state and log are kept in ${directory}`);
  }
}
