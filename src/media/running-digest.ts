/** Computes the digest of a body's canonical JSON while the body is read. */

import { canonicalJson } from "./canonical-json.ts";

/** The text hashed so far is checked at each image; for a longer text without images this costs too much. */
const longestText = 64 * 1024;
/** Bytes hashed at once: each write to the digest stream is asynchronous. */
const pieceBytes = 256 * 1024;

/**
 * Canonical JSON sorts names, so an image can be hashed as it arrives only if no later field sorts before it. This is assumed; if it proves
 * wrong, there is no digest here, and `digestJson` computes it from the stored images.
 */
export class RunningDigest {
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#digest.getWriter();
  readonly #encoder = new TextEncoder();
  readonly #buffer = new Uint8Array(pieceBytes);
  #waiting = 0;
  /** The canonical text that was hashed, with a placeholder for each image. */
  #hashed = "";
  #isLost = false;

  /**
   * An image begins.
   * @param text the body up to the image's placeholder, and the closing marks that make it JSON.
   */
  async begin(text: string, placeholder: string): Promise<void> {
    if (this.#isLost || text.length > longestText) return this.lose();
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return this.lose(); // if the whole body is not JSON, its reader reports it
    }
    const canonical = canonicalJson(value);
    await this.#continue(canonical.slice(0, canonical.indexOf(placeholder)));
    this.#hashed += placeholder;
  }

  /** The next piece of the image's text, escaped as in canonical JSON. */
  async add(text: string): Promise<void> {
    for (let rest = text; !this.#isLost;) {
      const { read, written } = this.#encoder.encodeInto(rest, this.#buffer.subarray(this.#waiting));
      this.#waiting += written;
      rest = rest.slice(read);
      if (rest === "") return;
      await this.#flush();
    }
  }

  /** Gives up: there will be no digest. */
  lose(): void {
    this.#isLost = true;
  }

  /** SHA-256 (hexadecimal) of the value's canonical text; undefined if its images did not arrive in canonical order. */
  async end(value: unknown): Promise<string | undefined> {
    await this.#continue(canonicalJson(value));
    if (this.#isLost) return undefined;
    await this.#flush();
    await this.#writer.close();
    return new Uint8Array(await this.#digest.digest).toHex();
  }

  /** Hashes the part of this text that follows the text hashed before. */
  async #continue(text: string): Promise<void> {
    if (!text.startsWith(this.#hashed)) this.lose();
    await this.add(text.slice(this.#hashed.length));
    this.#hashed = text;
  }

  /** The buffer may be reused once its bytes are hashed. */
  async #flush(): Promise<void> {
    await this.#writer.write(this.#buffer.subarray(0, this.#waiting));
    this.#waiting = 0;
  }
}
