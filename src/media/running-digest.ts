/** The digest of a body's canonical JSON, made while the body is read. */

import { canonicalJson } from "./canonical-json.ts";

/** What was hashed so far is checked at each image; longer text without its images is not worth that. */
const longestText = 64 * 1024;
const pieceBytes = 64 * 1024;

/**
 * Canonical JSON sorts names, so an image can be hashed while it arrives only if no field that comes later belongs in front of it. That is
 * assumed until it turns out wrong: then there is no digest, and `digestJson` makes it from what was stored.
 */
export class RunningDigest {
  readonly #digest = new crypto.DigestStream("SHA-256");
  readonly #writer = this.#digest.getWriter();
  readonly #encoder = new TextEncoder();
  readonly #buffer = new Uint8Array(pieceBytes);
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
      return this.lose(); // as the whole body is no JSON, its reader will report it
    }
    const canonical = canonicalJson(value);
    await this.#continue(canonical.slice(0, canonical.indexOf(placeholder)));
    this.#hashed += placeholder;
  }

  /** The next piece of the image's text, escaped as canonical JSON has it. */
  async add(text: string): Promise<void> {
    let rest = text;
    while (rest !== "" && !this.#isLost) {
      const { read, written } = this.#encoder.encodeInto(rest, this.#buffer);
      // The buffer is written to again only when this piece was hashed.
      await this.#writer.write(this.#buffer.subarray(0, written));
      rest = rest.slice(read);
    }
  }

  /** There will be no digest. */
  lose(): void {
    this.#isLost = true;
  }

  /** SHA-256 (hexadecimal) of the value's canonical text; undefined when its images did not come in that order. */
  async end(value: unknown): Promise<string | undefined> {
    await this.#continue(canonicalJson(value));
    if (this.#isLost) return undefined;
    await this.#writer.close();
    return new Uint8Array(await this.#digest.digest).toHex();
  }

  /** Hashes what this text has more than the text before. */
  async #continue(text: string): Promise<void> {
    if (!text.startsWith(this.#hashed)) this.lose();
    await this.add(text.slice(this.#hashed.length));
    this.#hashed = text;
  }
}
