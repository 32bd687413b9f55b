/** The attempts of one caller to have one thing made: finds for a repeat without an idempotency key the one that it repeats. */

import { DurableObject } from "cloudflare:workers";

/** How an attempt ended: `left` without its answer, `answered` with it, `over` so that a repeat is to begin anew. */
export type AttemptEnd = "left" | "answered" | "over";

interface Attempt {
  key: string;
  at: number;
  /** `open` while its caller waits, and after a caller hung up, because then no outcome is reported. */
  state: "open" | Exclude<AttemptEnd, "over">;
}

/** Clients give up repeating long before. */
const keptMs = 30 * 60_000;
const maxAttempts = 50;
const order: Attempt["state"][] = ["left", "open", "answered"];

/** One for each caller and request, by the digest of both. */
export class AttemptObject extends DurableObject {
  /**
   * The idempotency key to submit under. `isRepeat` says that the client named its request a repeat: it gets the key of the attempt that
   * it most likely repeats. Any other gets that of an attempt that ended without its answer, else a key of its own.
   */
  begin(isRepeat: boolean): string {
    const now = Date.now();
    const attempts = this.#attempts().filter(({ at }) => at > now - keptMs);
    const found = order
      .filter((state) => isRepeat || state === "left")
      .flatMap((state) => {
        const those = attempts.filter((attempt) => attempt.state === state);
        // Of those that were answered the last one: its answer got lost on the way.
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
