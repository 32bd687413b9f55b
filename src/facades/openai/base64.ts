/** Encodes bytes that arrive in pieces as Base64. */

/** Encodes three bytes at a time; remaining bytes of a piece are encoded with the next one. */
export class Base64 {
  #left: Uint8Array = new Uint8Array();

  push(bytes: Uint8Array): string {
    const joined = new Uint8Array(this.#left.length + bytes.length);
    joined.set(this.#left);
    joined.set(bytes, this.#left.length);
    const whole = joined.length - (joined.length % 3);
    this.#left = joined.slice(whole);
    return joined.subarray(0, whole).toBase64();
  }

  end(): string {
    return this.#left.toBase64();
  }
}
