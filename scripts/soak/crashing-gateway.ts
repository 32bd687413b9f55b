/** The gateway of a run: started, killed at once with all of its processes, restarted on its state. */

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { startGateway, type Gateway } from "../support/gateway.ts";
import { claimPort } from "../support/port.ts";

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
  /** The persistent state. */
  readonly stateDir: string;
  /** The log of all its lives: a process's last lines show why it ended. */
  readonly logFile: string;
  readonly crashes: Crash[] = [];
  /** How many times it has ended unexpectedly. */
  unaskedEnds = 0;
  readonly #signal: AbortSignal;
  readonly #port: number;
  #running: Gateway | undefined;

  private constructor({ directory, signal }: CrashingGatewayOptions, port: number) {
    this.#signal = signal;
    this.#port = port;
    this.baseUrl = `http://127.0.0.1:${port}`;
    this.stateDir = join(directory, "state");
    this.logFile = join(directory, "gateway.log");
  }

  /** Starts it for the first time. */
  static async start(options: CrashingGatewayOptions): Promise<CrashingGateway> {
    // A killed runtime leaves temporary files: they are deleted with the run's directory.
    process.env["TMPDIR"] = options.directory;
    const gateway = new CrashingGateway(options, await claimPort(0));
    await gateway.#start();
    return gateway;
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
    await running?.kill();
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
  }

  async #start(): Promise<void> {
    const onLine = (line: string) => appendFileSync(this.logFile, `${line}\n`);
    onLine(`\n=== life ${this.crashes.length + 1} (${new Date().toISOString()})`);
    const options = { port: this.#port, stateDir: this.stateDir, env: { RATE_LIMITS: "off" }, quiet: true, onLine, signal: this.#signal };
    const gateway = await startGateway(options);
    this.#running = gateway;
    void gateway.exited.then(() => {
      if (this.#running === gateway) this.unaskedEnds++;
    });
  }
}
