/** Signs files that carry no C2PA manifest while they are stored (`MARKS`). A file that cannot be signed in time is stored as it is. */

import { marks as readSetting } from "../../config.ts";
import { credentialReader } from "../../media/credentials.ts";
import type { CertificateState, SignOrder } from "../../media/file-binding.ts";
import { imageManifestBytes, prepareImage } from "../../media/image-manifest.ts";
import type { ImageType } from "../../media/image-type.ts";
import { manifestBox, VideoHash } from "../../media/video-manifest.ts";
import { Semaphore } from "../../base/concurrency.ts";
import { limitWait } from "../../base/limit-wait.ts";
import { alert } from "../../base/log.ts";
import { within } from "../../net/pace.ts";
import type { Submission } from "../record.ts";

/** A manifest takes a few milliseconds. A task waits once for one that does not come, and so do the operator's checks for the certificate. */
const signTimeoutMs = 3_000;
/** What a manifest adds to a file at most. */
export const maxManifestBytes = 64 * 1024;
/** A manifest stands in front of an image's data, so the image is collected before it is stored. Larger ones are stored unsigned. */
const maxImageBytes = 24 * 1024 * 1024;
const firstBufferBytes = 256 * 1024;
/** Images of an isolate that are being signed; a task that waits longer for its turn stores them unsigned. */
const turns = new Semaphore({ maxAtOnce: 2 * maxImageBytes, maxHoldMs: 60_000, maxWaitMs: 20_000 });

/** The manifest's `claim_generator_info`. */
const generator = "Generation gateway";

type Pieces = AsyncGenerator<Uint8Array, void>;

/** A file on its way into the bucket. */
interface Passing {
  body: Pieces;
  length: number | undefined;
}

interface Marked extends Passing {
  /** To be asked when the file has been read. */
  isSigned: () => boolean;
}

/** What a signature needs of a task. */
interface MarkedTask {
  id: string;
  submission: Pick<Submission, "model" | "source" | "inputs" | "characters" | "fromMedia">;
}

export class Marks {
  readonly #task: MarkedTask;
  readonly #signer: Env["SIGNER"];
  readonly #isOn: boolean;
  #isSlow = false;

  constructor(task: MarkedTask, env: Env) {
    this.#task = task;
    this.#signer = env.SIGNER;
    this.#isOn = this.#readSetting(env);
  }

  /** True if files are signed: then videos are stored in parts, because their length is not known in advance. */
  get isOn(): boolean {
    return this.#isOn;
  }

  /** The file as it is to be stored. Errors of `body` pass through. */
  async sign({ body, length }: Passing, type: string): Promise<Marked> {
    if (!this.#isOn) return { body, length, isSigned: () => false };
    return type === "video/mp4" ? this.#signVideo(body, length) : this.#signImage(body, length, type as ImageType);
  }

  /** A wrong value is an alert, and no reason to lose a file. */
  #readSetting(env: Env): boolean {
    try {
      return readSetting(env) === "sign";
    } catch (error) {
      this.#unsigned("variable", error);
      return false;
    }
  }

  /** A video's manifest stands behind its last box: the bytes pass unchanged, and are hashed on the way. */
  #signVideo(pieces: Pieces, length: number | undefined): Marked {
    let isSigned = false;
    const sign = async (binding: SignOrder["binding"] | undefined) => {
      const manifest = binding ? await this.#manifest({ binding }) : this.#unsigned("structure");
      return manifest && manifestBox(manifest);
    };
    const body = async function* (): Pieces {
      const hash = new VideoHash();
      const makers = credentialReader("video/mp4");
      let bytes = 0;
      try {
        for await (const piece of pieces) {
          bytes += piece.length;
          makers.push(piece);
          if (!makers.found) await hash.push(piece);
          yield piece;
        }
        if (length !== undefined && bytes !== length) throw new Error(`the file has ${bytes} bytes instead of ${length}`);
        if (makers.found) return;
        const box = await sign(await hash.end());
        isSigned = box !== undefined;
        if (box) yield box;
      } finally {
        await hash.abort();
      }
    };
    return { body: body(), length: undefined, isSigned: () => isSigned };
  }

  async #signImage(pieces: Pieces, length: number | undefined, type: ImageType): Promise<Marked> {
    const asItIs = { body: pieces, length, isSigned: () => false };
    if (length !== undefined && length > maxImageBytes) {
      this.#unsigned("too_large");
      return asItIs;
    }
    const turn = await turns.tryEnter(undefined, length ?? maxImageBytes);
    if (!turn) {
      this.#unsigned("busy");
      return asItIs;
    }
    try {
      const { bytes, isWhole } = await collect(pieces, length);
      const release = () => {
        bytes.buffer.transfer(0);
        turn.release();
      };
      if (!isWhole) this.#unsigned("too_large");
      const signed = isWhole && (length === undefined || length === bytes.length) ? await this.#placed(bytes, type) : undefined;
      const parts = signed ?? [bytes];
      const sum = parts.reduce((total, part) => total + part.length, 0);
      // What was not collected follows unsigned; a file of another length than announced is refused by the bucket.
      return {
        body: passOn(parts, pieces, release),
        length: signed || (isWhole && length === undefined) ? sum : length,
        isSigned: () => signed !== undefined,
      };
    } catch (error) {
      turn.release();
      throw error;
    }
  }

  /** The parts of the signed image; undefined if it carries a maker's manifest or cannot be signed. */
  async #placed(bytes: Uint8Array, type: ImageType): Promise<Uint8Array[] | undefined> {
    const makers = credentialReader(type);
    makers.push(bytes);
    if (makers.found) return undefined;
    const placement = await prepareImage(bytes, type);
    if (!placement) return this.#unsigned("structure");
    const manifest = await this.#manifest({ binding: placement.binding, bytes: imageManifestBytes });
    return manifest && placement.place(manifest);
  }

  /** A manifest of the marks Worker; undefined if it has none in time. */
  async #manifest(order: Pick<SignOrder, "binding" | "bytes">): Promise<Uint8Array | undefined> {
    if (!this.#signer) return this.#unsigned("no_marks_worker");
    if (this.#isSlow) return this.#unsigned("slow");
    const answer = this.#signer.sign({ ...order, isComposite: isComposite(this.#task), generator });
    answer.catch(() => undefined); // it may come after the time limit
    try {
      const signed = await limitWait(signTimeoutMs, answer, undefined);
      this.#isSlow = signed === undefined;
      if (!signed) return this.#unsigned("slow");
      if ("refused" in signed) return this.#unsigned("refused", signed.refused);
      if (signed.manifest.length > (order.bytes ?? maxManifestBytes)) return this.#unsigned("too_long");
      return signed.manifest;
    } catch (error) {
      return this.#unsigned("failed", error);
    }
  }

  /** Logs that a file is stored unsigned, and why. */
  #unsigned(reason: string, error?: unknown): undefined {
    alert("marks", { task: this.#task.id, model: this.#task.submission.model, outcome: "unsigned", reason }, error);
  }
}

/** The state of the certificate that signs, `"unused"` if files are not signed; undefined if the marks Worker does not say. */
export async function readCertificate(env: Env): Promise<CertificateState | "unused" | undefined> {
  try {
    if (readSetting(env) !== "sign") return "unused";
    if (!env.SIGNER) return { refused: "MARKS is sign, and the marks Worker is not deployed" };
    return await within(signTimeoutMs, Promise.resolve(env.SIGNER.certificate?.()));
  } catch (error) {
    alert("marks", { outcome: "certificate_unread" }, error);
    return undefined;
  }
}

/** True for edits, remixes, videos with characters and everything else that was made from media of the caller. */
const isComposite = ({ submission: { source, inputs, characters, fromMedia } }: MarkedTask) =>
  source !== undefined || fromMedia === true || inputs.length + characters.length > 0;

/** The file in one buffer, which grows with it; without `isWhole` its beginning, and the rest is still to be read. */
async function collect(pieces: Pieces, length: number | undefined) {
  let buffer = new Uint8Array(length ?? firstBufferBytes);
  let size = 0;
  for (let next = await pieces.next(); !next.done; next = await pieces.next()) {
    const end = size + next.value.length;
    if (end > buffer.length) buffer = new Uint8Array(buffer.buffer.transfer(Math.max(end, 2 * size)));
    buffer.set(next.value, size);
    size = end;
    if (size > maxImageBytes) return { bytes: buffer.subarray(0, size), isWhole: false };
  }
  return { bytes: buffer.subarray(0, size), isWhole: true };
}

async function* passOn(parts: Uint8Array[], rest: Pieces, release: () => void): Pieces {
  try {
    yield* parts;
    yield* rest;
  } finally {
    release();
    await rest.return();
  }
}
