/** The caller of a chat: whether it is still there, and until when its upstream is read. */

import { chatDeadlineMs } from "../../catalog/chat-tokens.ts";

/** After the caller disconnects the platform allows thirty more seconds; the time left after this delay is for settling. */
const drainMs = 20_000;
/** A chat that is answered sooner never listens for its caller's disconnection: a listener keeps the request in memory until the next full garbage collection. */
const calmMs = 2_000;

export class ChatCaller {
  readonly #request: AbortSignal;
  readonly #stop = new AbortController();
  readonly #timers: ReturnType<typeof setTimeout>[] = [];
  #isGone = false;
  #isSettled = false;

  constructor(request: AbortSignal) {
    this.#request = request;
  }

  /** Aborted when the answer takes too long, or some seconds after the caller disconnected: then the bytes received so far are settled. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  isGone(): boolean {
    return this.#isGone || this.#request.aborted;
  }

  /** To be called when a write fails: the caller has disconnected, perhaps `sinceMs` ago. */
  hangUp(sinceMs = 0): void {
    if (!this.#isGone && !this.#isSettled) this.#after(drainMs - sinceMs, () => this.#stop.abort());
    this.#isGone = true;
  }

  /** From the hold on. */
  watch(): void {
    this.#after(calmMs, () => {
      this.#after(chatDeadlineMs - calmMs, () => this.#stop.abort());
      // It may have disconnected right after the hold.
      if (this.#request.aborted) this.hangUp(calmMs);
      else this.#request.addEventListener("abort", () => this.hangUp());
    });
  }

  /** From the settlement on. */
  endWatch(): void {
    this.#isSettled = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #after(ms: number, work: () => void): void {
    this.#timers.push(setTimeout(work, ms));
  }
}
