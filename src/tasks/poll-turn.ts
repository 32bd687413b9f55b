/** Runs one poll of a task at a time, and keeps a minimum interval between polls that callbacks cause, however many callbacks arrive. */

const minDistanceMs = 1_000;
const maxDistanceMs = 30_000;

/** Exists only in the object's memory: if it is lost, the schedule in the record applies. */
export class PollTurn {
  /** Doubles with each poll that a callback caused and after which the task is still open. */
  #distanceMs = minDistanceMs;
  running: Promise<void> | undefined;
  /** The provider has called back since the last poll began. */
  isCalled = false;
  /** The earliest time of the next poll that a callback causes. */
  notBefore = 0;

  /** Runs a poll, or waits for the one that is running. */
  run(poll: () => Promise<void>): Promise<void> {
    this.running ??= this.#run(poll).finally(() => (this.running = undefined));
    return this.running;
  }

  async #run(poll: () => Promise<void>): Promise<void> {
    const wasCalled = this.isCalled;
    this.isCalled = false;
    await poll();
    this.notBefore = Date.now() + this.#distanceMs;
    if (wasCalled) this.#distanceMs = Math.min(maxDistanceMs, 2 * this.#distanceMs);
  }
}
