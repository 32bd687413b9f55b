/** The inputs of a start as readers: from the bucket, or from the hosts of callers. */

import { maxPauseMs } from "../work.ts";
import { type Asset, describeAsset, openAsset } from "../../storage/assets.ts";
import { urlRules } from "../../config.ts";
import { maxImageBytes } from "../../catalog/fields.ts";
import { largeReader, largeReads, readWhole } from "../../media/large-reads.ts";
import { detectAnyType } from "../../media/any-type.ts";
import { detectImageType } from "../../media/image-type.ts";
import { fetchPublic } from "../../net/fetch-public.ts";
import { NetError } from "../../net/net-error.ts";
import type { UrlRules } from "../../net/public-url.ts";
import { InputError, type InputImage, type InputVideo, ProviderError } from "../../providers/provider.ts";
import { Semaphore } from "../../base/concurrency.ts";
import { spool } from "../../storage/spool.ts";
import { watchHost } from "./slow-hosts.ts";
import type { StartClock } from "./start-clock.ts";
import type { Input, Source, Submission } from "../record.ts";

const maxSourceBytes = 64 * 1024 * 1024;
const fetchTimeoutMs = 30_000;

/** The bytes of the images in memory: an isolate works on many tasks and has 128 MB. An account gets half, which is two of the largest. */
const turns = new Semaphore({ maxAtOnce: 4 * maxImageBytes, maxWaiting: Infinity, maxHoldMs: 120_000, maxWaitMs: maxPauseMs });

/** An image that can be read without waiting for a caller's host. */
interface ImageFile {
  bytes: number;
  read(): Promise<Uint8Array<ArrayBuffer>>;
  discard?(): Promise<void>;
}

/**
 * Opening an input can take half a minute. So the lease is checked before the provider gets it: a task that was cancelled meanwhile is not
 * started. The clock of the start is paused while an image waits for a permit.
 */
export class Inputs {
  readonly #submission: Submission;
  readonly #env: Env;
  readonly #clock: StartClock;
  readonly #isWanted: () => Promise<boolean>;
  readonly #rules: UrlRules;
  /** The error of a video that failed while the provider read it: the caller's host caused it, whatever error the provider reports. */
  fault: unknown;

  constructor(submission: Submission, env: Env, clock: StartClock, isWanted: () => Promise<boolean>) {
    this.#submission = submission;
    this.#env = env;
    this.#clock = clock;
    this.#isWanted = isWanted;
    this.#rules = urlRules(env, submission.host);
  }

  image({ role, url, key, at }: Input): InputImage {
    return {
      role,
      ...(at && { at }),
      ...(url !== undefined && { url }),
      read: async (use) => {
        const file = await (key === undefined ? this.#fetchImage(url) : findStored(key, this.#env));
        const release = this.#clock.hold();
        const begin = async () => {
          release();
          const bytes = await file.read();
          try {
            // What a file of an own input is was checked when it was stored.
            const type = at ? detectAnyType(bytes).type : detectImageType(bytes);
            if (!type) throw new InputError("not a PNG, JPEG or WebP image");
            await this.#checkLease();
            return await use({ bytes, type });
          } finally {
            // Released at once: the unused buffers of several tasks could exceed the isolate's memory.
            bytes.buffer.transfer(0);
          }
        };
        const refuse = () => new ProviderError("busy", "too many images are being read");
        try {
          return await turns.take(begin, refuse, this.#submission.accountId, file.bytes);
        } finally {
          release();
          await file.discard?.();
        }
      },
    };
  }

  video({ asset, url }: Source): InputVideo {
    const open = async () => {
      const stream = await (asset ? openStoredVideo(asset, this.#env) : this.#fetchVideo(url));
      try {
        await this.#checkLease();
      } catch (error) {
        await stream.cancel();
        throw error;
      }
      return stream;
    };
    return asset ? { digest: asset.digest, open } : { url, open };
  }

  async #checkLease(): Promise<void> {
    if (!(await this.#isWanted())) throw new ProviderError("refused", "the lease is over");
  }

  /** Collects the image at a caller's URL before it takes a permit, because its host may be slow. */
  async #fetchImage(url: string): Promise<ImageFile> {
    const { accountId } = this.#submission;
    const ended = watchHost(accountId);
    try {
      const spooled = await this.#fetch(url, maxImageBytes, "image/*", async (body) => {
        const reader = largeReader(body);
        try {
          return await spool(this.#env.ASSETS, accountId, () => reader.read(), maxImageBytes);
        } catch (error) {
          reader.cancel().catch(() => undefined); // the rest is not wanted
          throw error instanceof NetError ? error : new ProviderError("busy", "the input could not be stored", { cause: error });
        }
      });
      const { bytes } = spooled;
      return { bytes, read: () => readWhole(spooled.pieces(), bytes).catch(unreadable), discard: () => spooled.discard() };
    } finally {
      ended();
    }
  }

  async #fetchVideo(url: string): Promise<ReadableStream<Uint8Array>> {
    const ended = watchHost(this.#submission.accountId);
    const note = (fault: unknown) => (this.fault ??= fault);
    try {
      return await this.#fetch(url, maxSourceBytes, "video/*", (body) => watched(body, note, ended));
    } catch (error) {
      ended();
      throw error;
    }
  }

  /** Fetches a caller's URL. Throws the result of `asInputFault`. */
  async #fetch<T>(url: string, maxBytes: number, accept: string, use: (body: ReadableStream<Uint8Array>) => T | Promise<T>): Promise<T> {
    try {
      return await use(await fetchPublic(url, { ...this.#rules, timeoutMs: fetchTimeoutMs, maxBytes, accept }));
    } catch (error) {
      throw asInputFault(error);
    }
  }
}

async function findStored(key: string, env: Env): Promise<ImageFile> {
  const found = await describeAsset(env.ASSETS, key).catch(unreadable);
  if (!found) throw new InputError("the stored input is gone");
  return { bytes: found.size, read: () => readStored(key, env) };
}

async function readStored(key: string, env: Env): Promise<Uint8Array<ArrayBuffer>> {
  const object = await openAsset(env.ASSETS, key).catch(unreadable);
  if (!object) throw new InputError("the stored input is gone");
  return readWhole(largeReads(object.body), object.size).catch(unreadable);
}

function unreadable(cause: unknown): never {
  throw new ProviderError("busy", "the stored input could not be read", { cause });
}

async function openStoredVideo(asset: Asset, env: Env): Promise<ReadableStream<Uint8Array>> {
  const object = await openAsset(env.ASSETS, asset.key);
  if (!object) throw new InputError("the source video has expired");
  return object.body;
}

/** Passes the stream on; its error is recorded as the input's fault. `ended` is called at its end. */
function watched(body: ReadableStream<Uint8Array>, note: (fault: unknown) => void, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        const fault = asInputFault(error);
        note(fault);
        ended();
        throw fault;
      });
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    cancel(reason) {
      ended();
      return reader.cancel(reason);
    },
  });
}

/** A host that may answer later is a temporary fault; every other fault is the caller's. */
function asInputFault(error: unknown): unknown {
  return error instanceof NetError ? new InputError(error.message, { retryable: error.retryable, cause: error }) : error;
}
