/** The event streams and waits that an account's callers hold open, in the memory of its wallet object: leases that end unless they are renewed. */

/** The maximum of one key or client token. */
const maxOpenWaits = 20;
/** How often an open wait renews its lease. A wait whose request was lost counts until its lease has ended. */
export const renewMs = 10_000;
const leaseMs = 25_000;

export class OpenWaits {
  /** By key or token, then by wait: when its lease ends, in milliseconds. */
  readonly #callers = new Map<string, Map<string, number>>();

  /** Begins or renews a lease. False if the key or token has the maximum of others. */
  hold(caller: string, wait: string, now: number): boolean {
    let waits = this.#callers.get(caller);
    if (!waits) this.#callers.set(caller, (waits = new Map()));
    for (const [other, until] of waits) if (until <= now) waits.delete(other);
    if (!waits.has(wait) && waits.size >= maxOpenWaits) return false;
    waits.set(wait, now + leaseMs);
    return true;
  }

  end(caller: string, wait: string): void {
    const waits = this.#callers.get(caller);
    waits?.delete(wait);
    if (waits?.size === 0) this.#callers.delete(caller);
  }
}
