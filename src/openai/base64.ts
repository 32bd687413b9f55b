/** Base64 of bytes that come in pieces. */

/** Encodes three bytes at a time; what is left over of a piece goes to the next. */
export class Base64 {
  #left: Uint8Array = new Uint8Array();

  /** The text of the next bytes. */
  push(bytes: Uint8Array): string {
    const joined = new Uint8Array(this.#left.length + bytes.length);
    joined.set(this.#left);
    joined.set(bytes, this.#left.length);
    const whole = joined.length - (joined.length % 3);
    this.#left = joined.slice(whole);
    return joined.subarray(0, whole).toBase64();
  }

  /** The end of the text. */
  end(): string {
    return this.#left.toBase64();
  }
}
