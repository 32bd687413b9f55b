/** The gateway of a run with its processes: started, killed at once with all of them, restarted on its state. */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startGateway, type Gateway } from "../support/gateway.ts";
import { claimPort } from "../support/port.ts";
import { descendants, listProcesses, type Process } from "../support/processes.ts";
import { errorCode } from "../support/faults.ts";
import { LogKeeper } from "./log-keeper.ts";

/** One crash: when the gateway was killed, and when it answered again. */
export interface Crash {
  at: number;
  upAt: number;
}

/** Settings of the gateway. */
export interface CrashingGatewayOptions {
  /** The directory of the state and the log. */
  directory: string;
  signal: AbortSignal;
}

/** A gateway that always uses the same address while it runs. */
export class CrashingGateway {
  readonly baseUrl: string;
  readonly log: LogKeeper;
  readonly crashes: Crash[] = [];
  /** How many times it has ended unexpectedly. */
  unaskedEnds = 0;
  readonly #options: CrashingGatewayOptions;
  readonly #port: number;
  #running: Gateway | undefined;

  private constructor(options: CrashingGatewayOptions, port: number) {
    this.#options = options;
    this.#port = port;
    this.baseUrl = `http://127.0.0.1:${port}`;
    this.log = new LogKeeper(join(options.directory, "gateway.log"));
  }

  /** Starts it for the first time. */
  static async start(options: CrashingGatewayOptions): Promise<CrashingGateway> {
    // A killed runtime leaves temporary files: they are deleted with the run's directory.
    process.env["TMPDIR"] = options.directory;
    const gateway = new CrashingGateway(options, await claimPort(0));
    await gateway.#start();
    return gateway;
  }

  /** The directory of the persistent state. */
  get stateDir(): string {
    return join(this.#options.directory, "state");
  }

  /** True while it accepts requests. */
  get isUp(): boolean {
    return this.#running !== undefined;
  }

  /** The operator's token. */
  get adminToken(): string {
    return this.#running?.adminToken ?? "";
  }

  /** Kills all of its processes at once. */
  async kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    this.crashes.push({ at: Date.now(), upAt: Number.POSITIVE_INFINITY });
    await killDescendants();
    await running?.stop();
  }

  /** Restarts it on the state after the crash; returns the crash. Throws if there was none. */
  async restart(): Promise<Crash> {
    const crash = this.crashes.at(-1);
    if (!crash) throw new Error("the gateway was not killed");
    await this.#start();
    crash.upAt = Date.now();
    return crash;
  }

  /** Stops it cleanly. */
  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.stop();
    this.log.close();
  }

  async #start(): Promise<void> {
    const { signal } = this.#options;
    const env = { RATE_LIMITS: "off" };
    const gateway = await startGateway({ port: this.#port, stateDir: this.stateDir, env, quiet: true, signal });
    this.log.follow(`life ${this.crashes.length + 1}`, () => gateway.log());
    this.#running = gateway;
    void gateway.exited.then(() => {
      if (this.#running === gateway) this.unaskedEnds++;
    });
  }
}

const goneWithinMs = 5_000;

/** Kills every descendant of this process at once with SIGKILL, and waits until they have ended. Returns their number. */
async function killDescendants(): Promise<number> {
  const killed = descendants(process.pid).filter(({ isZombie }) => !isZombie);
  for (const { pid } of killed) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      // It ended together with its parent.
      if (errorCode(error) !== "ESRCH") throw error;
    }
  }
  for (const deadline = Date.now() + goneWithinMs; ; await sleep(50)) {
    const left = survivors(killed);
    if (left.length === 0) return killed.length;
    if (Date.now() > deadline)
      throw new Error(`still there after SIGKILL: ${left.map(({ pid, command }) => `${pid} ${command}`).join("; ")}`);
  }
}

/** Orphans have a new parent: they are identified by their id and command. */
function survivors(killed: readonly Process[]): Process[] {
  const now = new Map(listProcesses().map((one) => [one.pid, one]));
  return killed.filter(({ pid, command }) => {
    const same = now.get(pid);
    return same !== undefined && !same.isZombie && same.command === command;
  });
}
