/** Keeps the whole log of a gateway over all its lives: what a process says last is the evidence of how it died. */

import { appendFileSync, readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";

const readMs = 250;
/** Enough of the end to find the place again. */
const anchorLength = 400;

/** Copies a log of which only the end can be read into a file, before that end moves on. */
export class LogKeeper {
  readonly path: string;
  #read: () => string = () => "";
  #anchor = "";
  readonly #timer: NodeJS.Timeout;

  constructor(path: string) {
    this.path = path;
    this.#timer = setInterval(() => this.keep(), readMs).unref();
  }

  /** A new life of the gateway, with a log of its own. */
  follow(title: string, read: () => string): void {
    this.keep();
    appendFileSync(this.path, `\n=== ${title} (${new Date().toISOString()})\n`);
    this.#read = read;
    this.#anchor = "";
  }

  /** Copies what is new. */
  keep(): void {
    const log = this.#read();
    const at = this.#anchor ? log.lastIndexOf(this.#anchor) : -1;
    const fresh = at < 0 ? log : log.slice(at + this.#anchor.length);
    if (!fresh) return;
    appendFileSync(this.path, fresh);
    this.#anchor = log.slice(-anchorLength);
  }

  /** No more copies. */
  close(): void {
    this.keep();
    clearInterval(this.#timer);
  }

  /** What was done with this task: the Worker's own lines that name it, without those of status queries. */
  linesAbout(taskId: string): string[] {
    return this.#lines().filter((line) => line.includes(taskId) && line.includes('{"unit"') && !line.includes('"path":"GET '));
  }

  /** How often each kind of line for the operator stands in the log: unit and outcome, not what went well. */
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
