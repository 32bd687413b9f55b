/** The attempts of one caller to submit one request: matches a repeat without an idempotency key to the attempt that it repeats. */

import { DurableObject } from "cloudflare:workers";

/** How an attempt ended: `left` without an answer, `answered` with one, `over` if a repeat must start a new attempt. */
export type AttemptEnd = "left" | "answered" | "over";

interface Attempt {
  key: string;
  at: number;
  /** `open` while its caller waits. Stays `open` if the caller disconnected, because then no outcome is reported. */
  state: "open" | Exclude<AttemptEnd, "over">;
}

/** Longer than any client keeps retrying. */
const keptMs = 30 * 60_000;
const maxAttempts = 50;
const order: Attempt["state"][] = ["left", "open", "answered"];

/** One object for each caller and request, named by the digest of both. */
export class AttemptObject extends DurableObject {
  /**
   * The idempotency key for a submission. `isRepeat`: the client marked its request as a retry; it gets the key of the attempt that it most
   * likely repeats. Any other request gets the key of an attempt that ended without an answer, or a new key.
   */
  begin(isRepeat: boolean): string {
    const now = Date.now();
    const attempts = this.#attempts().filter(({ at }) => at > now - keptMs);
    const found = order
      .filter((state) => isRepeat || state === "left")
      .flatMap((state) => {
        const those = attempts.filter((attempt) => attempt.state === state);
        // Of the answered attempts the last one, whose answer the client may not have received.
        return (state === "answered" ? those.at(-1) : those[0]) ?? [];
      })[0];
    const attempt: Attempt = { key: found?.key ?? `openai-${crypto.randomUUID()}`, at: found?.at ?? now, state: "open" };
    this.#write([...attempts.filter(({ key }) => key !== attempt.key), attempt].slice(-maxAttempts));
    return attempt.key;
  }

  end(key: string, end: AttemptEnd): void {
    this.#write(this.#attempts().flatMap((attempt) => (attempt.key !== key ? attempt : end === "over" ? [] : { ...attempt, state: end })));
  }

  #attempts(): Attempt[] {
    return this.ctx.storage.kv.get<Attempt[]>("attempts") ?? [];
  }

  #write(attempts: Attempt[]): void {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put("attempts", attempts);
      void this.ctx.storage.setAlarm(Date.now() + keptMs);
    });
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
