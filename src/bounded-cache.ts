/** A cache in an isolate's memory that is bounded by what its entries weigh, not by their number. */

/** Drops what was put in first when it is full. */
export class BoundedCache<T> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** What all entries weigh together. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Keeps a value of so many characters, each counted as two bytes, with its key. One that weighs more than a hundredth of all is not kept. */
  set(key: string, value: T, characters: number): void {
    const bytes = 2 * (key.length + characters);
    this.delete(key);
    if (bytes > this.#maxBytes / 100) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) break;
      this.delete(oldest);
    }
  }

  /** Deletes every entry whose key begins so. */
  deleteUnder(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.delete(key);
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
