/** Collects the whole log of a gateway over all its restarts: a process's last lines show why it ended. */

import { appendFileSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

const readMs = 250;
/** The length of the copied end that is searched for, to continue from there. */
const anchorLength = 400;

/** Copies a log, of which only the end can be read, into a file before older lines disappear. */
export class LogKeeper {
  readonly path: string;
  #read: () => string = () => "";
  #anchor = "";
  readonly #timer: NodeJS.Timeout;

  constructor(path: string) {
    this.path = path;
    this.#timer = setInterval(() => this.keep(), readMs).unref();
  }

  /** The gateway was restarted, with a new log. */
  follow(title: string, read: () => string): void {
    this.keep();
    appendFileSync(this.path, `\n=== ${title} (${new Date().toISOString()})\n`);
    this.#read = read;
    this.#anchor = "";
  }

  /** Copies the new lines. */
  keep(): void {
    const log = this.#read();
    const at = this.#anchor ? log.lastIndexOf(this.#anchor) : -1;
    const fresh = at < 0 ? log : log.slice(at + this.#anchor.length);
    if (!fresh) return;
    appendFileSync(this.path, fresh);
    this.#anchor = log.slice(-anchorLength);
  }

  /** Stops copying. */
  close(): void {
    this.keep();
    clearInterval(this.#timer);
  }

  /** The log lines of the Worker that name this task, except those of status queries. */
  linesAbout(taskId: string): string[] {
    return this.#lines().filter((line) => line.includes(taskId) && line.includes('{"unit"') && !line.includes('"path":"GET '));
  }

  /** How often each kind of log line for the operator occurs, by unit and outcome, without successes. */
  troubles(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const line of this.#lines()) {
      const [, unit, outcome] = /\{"unit":"(\w+)".*?"outcome":"(\w+)"/.exec(line) ?? [];
      if (!outcome || !troubling.has(outcome)) continue;
      const name = `${unit} ${outcome}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  }

  #lines(): string[] {
    return stripVTControlCharacters(readFileSync(this.path, "utf8")).split("\n");
  }
}

const troubling = new Set([
  "fault",
  "retry",
  "unavailable",
  "internal_error",
  "lease_lapsed",
  "deadline_exceeded",
  "dead_letter",
  "not_sent",
  "too_late",
]);
