/** The input of a batch in the bucket, read in parts: it may be larger than the memory. */

import { batchInput, openAsset } from "../../storage/assets.ts";
import { findLines } from "./lines.ts";
import { type BatchStore, pageLines } from "./state.ts";

/** Pages up to this size are read whole; of larger ones only the wanted line, which may be a thousandth of its page. */
const maxPageBytes = 2 * 1024 * 1024;
/** How many whole pages stay in memory. */
const maxPages = 8;

export class BatchInput {
  readonly #bucket: R2Bucket;
  readonly #store: BatchStore;
  readonly #pages = new Map<number, Uint8Array[]>();

  constructor(bucket: R2Bucket, store: BatchStore) {
    this.#bucket = bucket;
    this.#store = store;
  }

  /** Bytes of the input. Throws if it is gone. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    if (length <= 0) return new Uint8Array(0);
    const object = await openAsset(this.#bucket, batchInput(this.#store.current.terms.id), { offset, length });
    if (!object) throw new Error("the input of the batch is not in the bucket");
    return new Uint8Array(await object.arrayBuffer());
  }

  /** The text of a line that was not refused when it was checked. Throws if it is gone. */
  async line(n: number): Promise<Uint8Array> {
    const at = Math.floor(n / pageLines);
    const known = this.#pages.get(at);
    const page = known ? undefined : this.#store.page(at);
    const [, , , ...place] = page?.assigned[n % pageLines] ?? [];
    const [start, length] = place;
    if (page && page.bytes > maxPageBytes && start !== undefined && length !== undefined) return this.read(start, length);
    const line = (known ?? (page && (await this.#readPage(at, page))))?.[n % pageLines];
    if (!line) throw new Error(`line ${n + 1} of the batch is not in its input`);
    return line;
  }

  async #readPage(n: number, { at, bytes: length }: { at: number; bytes: number }): Promise<Uint8Array[]> {
    const bytes = await this.read(at, length);
    const lines = findLines(bytes, true).lines.map((line) => bytes.subarray(line.at, line.at + line.bytes));
    this.#pages.set(n, lines);
    if (this.#pages.size > maxPages) this.#pages.delete(this.#pages.keys().next().value!);
    return lines;
  }
}
