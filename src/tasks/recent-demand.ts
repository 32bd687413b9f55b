/** The amounts that an account reserved recently, per minute of the clock: they determine the size of the next grant. */
export class RecentDemand {
  #minute = 0;
  #amount = 0;
  #before = 0;

  /** Counts a reservation in millionths. */
  add(amount: number, now: number): void {
    const minute = Math.floor(now / 60_000);
    if (minute !== this.#minute) {
      this.#before = minute === this.#minute + 1 ? this.#amount : 0;
      this.#minute = minute;
      this.#amount = 0;
    }
    this.#amount += amount;
  }

  /** The larger of the sums of the last two minutes that had a reservation, in millionths. */
  get perMinute(): number {
    return Math.max(this.#amount, this.#before);
  }
}
