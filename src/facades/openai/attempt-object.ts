/**
 * What OpenAI's paths remember for half an hour: the attempts of one caller to submit one request, which match a repeat without an
 * idempotency key to the attempt that it repeats; in other objects of this class a stored response.
 */

import { DurableObject } from "cloudflare:workers";

/** How an attempt ended: `left` without an answer, `answered` with one, `over` if a repeat must start a new attempt. */
export type AttemptEnd = "left" | "answered" | "over";

interface Attempt {
  key: string;
  at: number;
  /** `open` while its caller waits; `left` a second or two after the caller has disconnected. Stays `open` if the Worker ends before that. */
  state: "open" | Exclude<AttemptEnd, "over">;
  /** The request that opened it last. */
  by?: string | undefined;
}

/** A stored response: what was asked and what was answered, as JSON texts. */
interface StoredResponse {
  account: string;
  /** The wallet of the key that made it; the previous release stored none. */
  keyId?: string | undefined;
  /** The items of the conversation up to this response. */
  input: string;
  /** The response; undefined until it has ended. */
  response?: string;
}

/** Longer than any client keeps retrying, and as long as a response is stored. */
const keptMs = 30 * 60_000;
const maxAttempts = 50;
const order: Attempt["state"][] = ["left", "open", "answered"];

/**
 * One object for each caller and request, named by the digest of both; or, with an id that the namespace issued, for each stored response.
 * Responses have no class of their own, because the platform refuses to deploy the earlier release after one that adds a class.
 */
export class AttemptObject extends DurableObject {
  /**
   * The idempotency key for a submission. `isRepeat`: the client marked its request as a retry; it gets the key of the attempt that it most
   * likely repeats. Any other request gets the key of an attempt that ended without an answer, or a new key. A request (`by`) that asks again
   * gets the same key.
   */
  begin(isRepeat: boolean, by: string = crypto.randomUUID()): string {
    const now = Date.now();
    const attempts = this.#attempts().filter(({ at }) => at > now - keptMs);
    const known = attempts.find((attempt) => attempt.by === by);
    if (known) return known.key;
    const found = order
      .filter((state) => isRepeat || state === "left")
      .flatMap((state) => {
        const those = attempts.filter((attempt) => attempt.state === state);
        // Of the answered attempts the last one, whose answer the client may not have received.
        return (state === "answered" ? those.at(-1) : those[0]) ?? [];
      })[0];
    const attempt: Attempt = { key: found?.key ?? `openai-${crypto.randomUUID()}`, at: found?.at ?? now, state: "open", by };
    this.#write("attempts", [...attempts.filter(({ key }) => key !== attempt.key), attempt].slice(-maxAttempts));
    return attempt.key;
  }

  end(key: string, end: AttemptEnd): void {
    const attempts = this.#attempts().flatMap((attempt) =>
      attempt.key !== key ? attempt : end === "over" ? [] : { ...attempt, state: end },
    );
    this.#write("attempts", attempts);
  }

  /** Stores the conversation of a response that begins. */
  keepInput(account: string, input: string, keyId?: string): void {
    this.#write("response", { account, input, keyId });
  }

  /** Stores a response that has ended, unless its request had `store: false` (then `keepInput` was not called). */
  keepResponse(response: string): void {
    const stored = this.ctx.storage.kv.get<StoredResponse>("response");
    if (stored) this.#write("response", { ...stored, response });
  }

  /**
   * The stored response; undefined if it does not exist, belongs to another account or has not ended; with `ownWallets`, those of a member,
   * also if another member's key made it.
   */
  readResponse(account: string, ownWallets?: string[]): StoredResponse | undefined {
    const stored = this.ctx.storage.kv.get<StoredResponse>("response");
    if (stored?.account !== account || stored.response === undefined) return undefined;
    return ownWallets && stored.keyId !== undefined && !ownWallets.includes(stored.keyId) ? undefined : stored;
  }

  /** Deletes the stored response. Returns false where `readResponse` finds none. */
  async deleteResponse(account: string, ownWallets?: string[]): Promise<boolean> {
    if (!this.readResponse(account, ownWallets)) return false;
    await this.ctx.storage.deleteAll();
    return true;
  }

  #attempts(): Attempt[] {
    return this.ctx.storage.kv.get<Attempt[]>("attempts") ?? [];
  }

  /** Keeps the object's one value, and all of the object for half an hour from now. */
  #write(name: "attempts" | "response", value: Attempt[] | StoredResponse): void {
    this.ctx.storage.transactionSync(() => {
      this.ctx.storage.kv.put(name, value);
      void this.ctx.storage.setAlarm(Date.now() + keptMs);
    });
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }
}
