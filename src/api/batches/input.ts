/** The input of a batch in the bucket, read in parts: it may be larger than the memory. */

import { invalid } from "../../base/errors.ts";
import { batchInput, openAsset } from "../../storage/assets.ts";
import { type BatchStore, pageLines } from "./state.ts";

/** Pages up to this size are read whole; of larger ones only the wanted line, which may be a thousandth of its page. */
const maxPageBytes = 2 * 1024 * 1024;
/** How many whole pages stay in memory. */
const maxPages = 8;

export class BatchInput {
  readonly #bucket: R2Bucket;
  readonly #store: BatchStore;
  readonly #pages = new Map<number, Uint8Array>();

  constructor(bucket: R2Bucket, store: BatchStore) {
    this.#bucket = bucket;
    this.#store = store;
  }

  /** Bytes of the input. Throws 400 if it is not in the bucket. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    if (length <= 0) return new Uint8Array(0);
    const object = await openAsset(this.#bucket, batchInput(this.#store.current.terms), { offset, length });
    if (!object) throw invalid("input_file", "unknown_file");
    return new Uint8Array(await object.arrayBuffer());
  }

  /** The text of a line that was not refused when it was checked. Throws like `read`. */
  async line(n: number): Promise<Uint8Array> {
    const { n: number, at, bytes, assigned } = this.#store.page(Math.floor(n / pageLines))!;
    const [, , , start, length] = assigned[n % pageLines]!;
    if (bytes > maxPageBytes) return this.read(start, length);
    const page = this.#pages.get(number) ?? (await this.read(at, bytes));
    this.#pages.set(number, page);
    if (this.#pages.size > maxPages) this.#pages.delete(this.#pages.keys().next().value!);
    return page.subarray(start - at, start - at + length);
  }
}
