/** Lets one poll of a task run at a time, and keeps those that callbacks ask for apart, however many come. */

const minDistanceMs = 1_000;
const maxDistanceMs = 30_000;

/** Lives as long as its object is in memory: without it the schedule in the record goes on. */
export class PollTurn {
  /** Doubles with each poll that a callback asked for and that left the task open. */
  #distanceMs = minDistanceMs;
  running: Promise<void> | undefined;
  /** The provider has called back since the last poll began. */
  isCalled = false;
  /** When the next poll may begin that a callback asks for. */
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
