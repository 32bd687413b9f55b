/** The timeout of a start: it runs while the upstream works, and is paused while the request waits for the gateway itself. */

import { maxPauseMs } from "../work.ts";

export class StartClock {
  readonly #timeout = new AbortController();
  #isRunning = false;
  #leftMs = 0;
  #holdLeftMs = maxPauseMs;
  #holds = 0;
  #since = 0;
  #cancel: () => void = () => undefined;

  /** Runs work whose signal is aborted after `ms` of unpaused time, like `AbortSignal.timeout`. */
  async run<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.#isRunning = true;
    this.#leftMs = ms;
    this.#go();
    try {
      return await work(this.#timeout.signal);
    } finally {
      this.#isRunning = false;
      this.#cancel();
    }
  }

  /** Pauses the timeout until the returned function is called, which may be called repeatedly. */
  hold(): () => void {
    if (this.#holds++ === 0 && this.#isRunning) {
      this.#leftMs -= Date.now() - this.#since;
      this.#after(this.#holdLeftMs, () => {
        this.#holdLeftMs = 0;
        this.#go();
      });
    }
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      if (--this.#holds > 0 || this.#holdLeftMs === 0 || !this.#isRunning) return;
      this.#holdLeftMs = Math.max(0, this.#holdLeftMs - (Date.now() - this.#since));
      this.#go();
    };
  }

  #go(): void {
    this.#after(this.#leftMs, () => this.#timeout.abort(new DOMException("The start took too long", "TimeoutError")));
  }

  #after(ms: number, then: () => void): void {
    this.#since = Date.now();
    this.#cancel();
    const timer = setTimeout(then, Math.max(0, ms));
    this.#cancel = () => clearTimeout(timer);
  }
}
