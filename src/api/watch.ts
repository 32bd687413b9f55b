/** The time limits of a request, one after the other, with a single timer, because each costs a chat measurable CPU time. */

/** The timer fires after this time at the latest, and is set again if its limit is later: most requests have ended by then. */
const firstMs = 2_000;

export class Watch {
  #due = Infinity;
  #expire = (): void => undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firesAt = Infinity;

  /** Calls `expire` after `ms`, instead of the limit before. */
  limit(ms: number, expire: () => void): void {
    this.#due = Date.now() + ms;
    this.#expire = expire;
    if (this.#firesAt > this.#due) this.#set(Math.min(ms, this.#timer === undefined ? firstMs : Infinity));
  }

  /** Resolves like the promise, or to undefined if that takes longer. After that the limit before applies again. */
  async within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
    const [due, expire] = [this.#due, this.#expire];
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    this.limit(ms, () => resolve(undefined));
    try {
      return await Promise.race([promise, late]);
    } finally {
      if (due < Infinity) this.limit(due - Date.now(), expire);
      else this.#due = Infinity;
    }
  }

  /** Ends the limits. */
  stop(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#due = this.#firesAt = Infinity;
  }

  #set(ms: number): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#firesAt = Date.now() + ms;
    this.#timer = setTimeout(() => {
      this.#firesAt = Infinity;
      const left = this.#due - Date.now();
      if (left <= 0) this.#expire();
      else if (left < Infinity) this.#set(left);
    }, ms);
  }
}
