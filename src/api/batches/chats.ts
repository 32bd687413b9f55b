/** The chats of a batch: held in the wallet, asked for while other lines go on, and settled also after a crash. */

import { lanes } from "../../base/concurrency.ts";
import { newChatId } from "../../base/ids.ts";
import { retry } from "../../base/retry.ts";
import { chargeVersion } from "../../base/versions.ts";
import { maxBatchTasks } from "../../config.ts";
import { type Charge, toUnits } from "../../db/ledger.ts";
import type { ReserveAnswer } from "../../wallet/limits.ts";
import { chatHoldEnds } from "../chat/hold.ts";
import { askUnattended } from "../chat/unattended.ts";
import type { Line } from "./lines.ts";
import type { BatchStore, BatchTerms, HeldChat } from "./state.ts";
import { type CheckedChat, toLineError } from "./submit-line.ts";

/** How a chat ended: stored with its line, or to be asked again. `isUnknown`: the maker may be down, and may have accepted it. */
type ChatEnd = { status: "completed" | "failed"; charged: number; isUnknown: boolean } | "again";

export const toCharge = ({ accountId, keyId }: BatchTerms, taskId: string, { model }: CheckedChat): Charge => ({
  v: chargeVersion,
  taskId,
  accountId,
  keyId,
  kind: "chat",
  model,
});

export class BatchChats {
  readonly #env: Env;
  readonly #background: Pick<ExecutionContext, "waitUntil">;
  readonly #store: BatchStore;
  /** The lines that are chats and begin or run, by number; undefined before a chat is held. */
  readonly #runs = new Map<number, Promise<void> | undefined>();

  constructor(env: Env, background: Pick<ExecutionContext, "waitUntil">, store: BatchStore) {
    this.#env = env;
    this.#background = background;
    this.#store = store;
  }

  has(n: number): boolean {
    return this.#runs.has(n);
  }

  /**
   * True if another chat may begin. The platform lets an invocation wait for the answers of six requests, and a chat's may take minutes: one
   * is left for the calls that make tasks.
   */
  hasRoom(besideTasks: boolean): boolean {
    return this.#runs.size < (besideTasks ? lanes - 1 : lanes);
  }

  /** Runs `start`, which begins the chat of a line. */
  async begin(n: number, start: () => Promise<boolean>): Promise<boolean> {
    this.#runs.set(n, undefined);
    try {
      return await start();
    } finally {
      if (!this.#runs.get(n)) this.#runs.delete(n);
    }
  }

  /** Notes that the chat of a line runs until `run` is over; then calls `after`. The object stays in memory meanwhile. */
  follow(n: number, run: Promise<void>, after: () => void): void {
    const followed = run.finally(() => {
      this.#runs.delete(n);
      after();
    });
    this.#runs.set(n, followed);
    this.#background.waitUntil(followed);
  }

  async allEnded(): Promise<void> {
    await Promise.allSettled([...this.#runs.values()].filter((run) => run !== undefined));
  }

  /** Holds a chat's price. If it throws, the hold may exist; `settle` releases it. */
  async hold(n: number, charge: Charge, held: number): Promise<ReserveAnswer> {
    this.#store.putChat({ n, charge, held, charged: 0, outcome: "provider_error" });
    const wallet = this.#env.WALLETS.getByName(charge.accountId);
    const made: ReserveAnswer = await wallet.reserve(charge, held, { deadline: chatHoldEnds(), maxOpen: maxBatchTasks(this.#env) });
    if (made.answer !== "reserved" && this.#store.batch) this.#store.deleteChat(charge.taskId);
    return made;
  }

  /**
   * Asks for a held chat, and stores its line's end, which is to be settled then. undefined if the line has ended otherwise. `mayRepeat` is
   * called if the makers have refused it and may take it later.
   */
  async ask(
    n: number,
    line: Line,
    chat: CheckedChat,
    charge: Charge,
    mayRepeat: (retryAfterMs: number) => boolean,
  ): Promise<ChatEnd | undefined> {
    const { terms } = this.#store.current;
    const { requestId, accountId } = terms;
    const asker = { env: this.#env, background: this.#background, requestId, accountId, files: chat.files };
    const { result, charged, outcome, attempts } = await askUnattended(asker, charge.taskId, chat);
    if (!this.#store.batch || this.#store.hasLine(n)) return undefined;
    const { held } = chat;
    const { answer, error } = result;
    const ended = { n, charge, held, charged, outcome, attempts };
    // Makers that bill failures would bill each repetition.
    const isFree = charged === 0 && attempts.every(({ cost }) => cost === 0);
    if (error && result.isRefused && isFree && mayRepeat(1000 * (error.retryAfter ?? 0))) {
      this.#store.putChat({ ...ended, outcome: "refused" });
      // Counted until it is released; then the line has another id.
      await this.settle((one) => one.charge.taskId === charge.taskId);
      return "again";
    }
    const cost = { reserved: toUnits(held), charged: toUnits(charged), returned: toUnits(held - charged) };
    const status = error ? "failed" : "completed";
    const found = error ? { error: toLineError(error, terms) } : { response: answer };
    const shown = terms.openAi && { openai: line.openAi };
    const text = JSON.stringify({ custom_id: line.customId, status, ...found, cost, ...shown });
    this.#store.endChat({ n, status, charged, result: text }, ended);
    return { status, charged, isUnknown: error !== undefined && result.isUnknown && outcome !== "completed" };
  }

  /** Settles the chats that `isMeant` selects. Repeating is safe. Throws if a wallet does not answer. */
  async settle(isMeant: (chat: HeldChat) => boolean): Promise<void> {
    for (const chat of this.#store.chats().filter(isMeant)) {
      const { n, charge, charged, outcome, held, attempts } = chat;
      await retry("settle", charge.taskId, async () =>
        this.#env.WALLETS.getByName(charge.accountId).settle(charge, charged, outcome, held, undefined, attempts),
      );
      if (!this.#store.batch) return;
      this.#store.deleteChat(charge.taskId);
      if (this.#store.assigned(n)?.[0] === charge.taskId && !this.#store.hasLine(n)) this.#store.reassign(n, newChatId());
    }
  }
}
