/** One run: its progress lines, its log without secrets, and the wrangler commands it makes. */

import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { startWrangler } from "../support/wrangler.ts";
import { toStop } from "./api.ts";
import { isRefusal, Stop, stopFor } from "./stop.ts";

const commandDeadlineMs = 600_000;
/** Patterns of secrets that other programs generate: API keys, and the token of an invitation. */
const secretShapes = /\bsk-[0-9A-Za-z]{40,}|\binvitation=[\w-]+/g;

/** The options of a run. */
export interface RunOptions {
  /** The folder of its state, relative to the root's `.deploy`. */
  folder: string;
  /** True writes no file. */
  isDry: boolean;
  environment: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** A run in progress. */
export class Run {
  readonly #options: RunOptions;
  readonly #secrets = new Set<string>();
  /** The run's log; nothing is written to it in a dry run. */
  readonly logFile: string;

  constructor(options: RunOptions) {
    // Wrangler trusts the system's certificates and SSL_CERT_FILE too, like this process.
    this.#options = { ...options, environment: { ...options.environment, NODE_USE_SYSTEM_CA: "1" } };
    this.logFile = join(options.folder, `${new Date().toISOString().replaceAll(":", "-").slice(0, 19)}.log`);
    if (!options.isDry) mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  }

  /** Masks this text from now on in the log and in other programs' output. */
  hide(...secrets: string[]): void {
    for (const secret of secrets) if (secret.length >= 6) this.#secrets.add(secret);
  }

  /** The account of wrangler's commands. */
  useAccount(id: string): void {
    this.#options.environment["CLOUDFLARE_ACCOUNT_ID"] = id;
  }

  /** Adds a line to the log. */
  log(text: string): void {
    if (!this.#options.isDry) appendFileSync(this.logFile, `${new Date().toISOString()} ${this.masked(text)}\n`, { mode: 0o600 });
  }

  /** Prints a line, and logs it. */
  print(text: string): void {
    console.log(text);
    this.log(text);
  }

  /** Runs all steps. A fault is logged, and thrown again as a `Stop` without secrets. */
  async whole(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#options.signal.aborted) {
        this.log("interrupted");
        throw error;
      }
      const { message, remedy } = toStop(error);
      this.log(`${error instanceof Stop || !(error instanceof Error) ? message : (error.stack ?? message)}\n→ ${remedy}`);
      throw new Stop(this.masked(message), this.masked(remedy));
    }
  }

  /** Runs one step and prints its progress line; `work` may return a short result. A fault is printed with the step and rethrown. */
  async step(title: string, work: () => Promise<string | undefined>): Promise<void> {
    await this.find(title, async () => [undefined, await work()]);
  }

  /** The same for a step that finds something, which is returned: `work` returns it and the short result. */
  async find<T>(title: string, work: () => Promise<[found: T, result: string | undefined]>): Promise<T> {
    const since = Date.now();
    if (process.stdout.isTTY) process.stdout.write(`  … ${title}`);
    const end = (mark: string, outcome: string | undefined) => {
      if (process.stdout.isTTY) process.stdout.write("\r\x1b[K");
      this.print(`  ${mark} ${title}${outcome === undefined ? "" : `: ${outcome}`} (${((Date.now() - since) / 1000).toFixed(1)} s)`);
    };
    try {
      this.#options.signal.throwIfAborted();
      const [found, result] = await work();
      end("✓", result);
      return found;
    } catch (error) {
      end("✗", this.#options.signal.aborted ? "broken off" : undefined);
      throw error;
    }
  }

  /** Runs wrangler and returns its output. Throws `Stop` with the known reason of a fault. */
  async wrangler(...args: string[]): Promise<string> {
    this.log(`$ wrangler ${args.join(" ")}`);
    const bounded = AbortSignal.any([this.#options.signal, AbortSignal.timeout(commandDeadlineMs)]);
    const child = startWrangler(args, this.#options.folder, this.#options.environment, bounded);
    const code = await child.exited;
    const output = stripVTControlCharacters(child.output());
    this.log(`${output.trim()}\nexit code ${code}`);
    if (code === 0) return output;
    this.#options.signal.throwIfAborted();
    const apiCode = Number(/\[code: (\d+)\]/.exec(output)?.[1]);
    // The preflight has used the credentials: a refusal now is of this call alone.
    const isForbidden = isRefusal(apiCode);
    throw (
      (isForbidden ? undefined : stopFor(apiCode)) ??
      new Stop(
        `wrangler ${args.slice(0, 3).join(" ")} failed:\n${faultIn(output)}`,
        isForbidden
          ? 'Give the token the missing permission (docs/deploy.md, "A token for CI"), and run the same command again: it continues where it stopped.'
          : "Run the same command again: it continues where it stopped.",
      )
    );
  }

  /** The output of `wrangler auth token`, which is not logged. */
  async credentials(): Promise<string> {
    const child = startWrangler(["auth", "token", "--json"], this.#options.folder, this.#options.environment);
    return (await child.exited) === 0 ? child.output() : "";
  }

  /** The text without secrets. */
  masked(text: string): string {
    let masked = text.replace(secretShapes, "***");
    for (const secret of this.#secrets) masked = masked.replaceAll(secret, "***");
    return masked;
  }
}

/** Wrangler's error message, without its banner and advice. */
const faultIn = (output: string): string => {
  const [fault = ""] = output.slice(Math.max(0, output.indexOf("✘"))).split(/\n\s*(?:If you think|🪵|Note that)/);
  return fault.trim().slice(0, 2_000);
};
