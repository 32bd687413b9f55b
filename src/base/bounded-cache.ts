/** A cache in an isolate's memory, bounded by the size of its entries instead of their number. */

/** Removes the oldest entries when it is full. */
export class BoundedCache<T> {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, { value: T; bytes: number }>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The total size of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Stores a value with its key; each character counts as two bytes. A value above a hundredth of the limit is not stored. */
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

  /** Deletes every entry whose key begins with this prefix. */
  deleteUnder(prefix: string): void {
    for (const key of this.#entries.keys()) if (key.startsWith(prefix)) this.delete(key);
  }

  delete(key: string): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }
}
