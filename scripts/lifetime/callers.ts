/** The callers of a lifetime: what they submit, and what they were told about it. */

import * as z from "zod/mini";
import { HeldUpstream, stopped, type Stop } from "../../test/programs/support/held-upstream.ts";
import type { Message, MixedGateway } from "../../test/programs/support/mixed-gateway.ts";
import { type Account, History, type KnownTask, type Sight } from "../engine/history.ts";
import { type Answer, HttpClient, read } from "../engine/http-client.ts";
import { createAccount } from "../engine/wallets.ts";
import { AdminClient } from "../support/admin-client.ts";
import { micro } from "../support/bill.ts";
import type { Random } from "../support/random.ts";

/** An account, and its quota in millionths with credits; null is no limit. */
export type Caller = Account & { quota: number | null };

// Only these fields are read: the release before may send more or fewer.
const accepted = z.object({ id: z.string() });
const shown = z.object({ data: z.object({ status: z.string(), progress: z.number() }) });
const receipt = z.object({ receipt: z.object({ charged: z.number() }) });

const stops: readonly Stop[] = ["start", "poll", "download"];
const quotas = [null, 2, 1000];

export class Callers {
  readonly accounts: Caller[] = [];
  readonly history = new History();
  /** Chats that were answered, with their account. */
  readonly chats = new Map<string, Account>();
  /** Those that were answered within a second before their gateway ended: their settlements, which follow the answers, may be lost. */
  readonly unsettled = new Set<string>();
  #justAnswered: { id: string; at: number }[] = [];
  /** The charges of tasks by their receipts, in millionths. */
  readonly receipts = new Map<string, number>();
  /** Submissions whose answer was lost with a process. */
  lost = 0;
  readonly upstream = new HeldUpstream();
  readonly mail: Message[] = [];
  readonly admin: AdminClient;
  readonly #http: HttpClient;
  readonly #random: Random;
  readonly #gateway: MixedGateway;
  #count = 0;

  constructor(random: Random, gateway: MixedGateway) {
    this.#random = random;
    this.#gateway = gateway;
    const send = (path: string, init: RequestInit) => gateway.fetch(path, init as Parameters<MixedGateway["fetch"]>[1]) as Promise<never>;
    this.#http = new HttpClient(send);
    this.admin = new AdminClient("", "test-admin", { fetch: send });
  }

  async open(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const quota = this.#random.pick(quotas);
      const account = await createAccount(this.admin, `caller${at}`, quota, this.#random.pick([null, null, 1]));
      this.accounts.push({ ...account, quota: quota === null ? null : micro(quota) });
    }
  }

  /** Has each wallet do what its alarms would have done while the clock was moved on. */
  async wakeWallets(): Promise<void> {
    for (const { id } of this.accounts) await this.#gateway.fetch(`/audit/${id}`, { headers: {} });
  }

  /** Sends some submissions at once, and waits for the answers that the upstream does not hold back. */
  async submit(epoch: number): Promise<void> {
    const count = this.#random.int(4, 10);
    await Promise.all(Array.from({ length: count }, () => this.#submitOne(epoch)));
  }

  async #submitOne(epoch: number): Promise<void> {
    const account = this.#random.pick(this.accounts);
    const stop = this.#random.chance(0.4) ? `${stopped(this.#random.pick(stops), this.#random.int(epoch, epoch + 1))} ` : "";
    const prompt = `${stop}${this.#random.chance(0.15) ? "refuse " : ""}number ${++this.#count}`;
    const reference = this.#random.chance(0.3) ? { reference: `order ${this.#random.int(1, 3)}` } : {};
    const kind = this.#random.weighted([
      [4, "image"],
      [4, "video"],
      [3, "chat"],
    ] as const);
    if (kind === "chat") {
      const isHeld = this.#random.chance(0.2);
      const answered = this.#chat(account, isHeld ? `${stopped("chat", epoch)} Hello` : "Hello");
      return isHeld ? undefined : answered;
    }
    const path = `/v1/${kind}s/generations`;
    const body = { ...(kind === "image" ? { model: "imgA-4" } : { model: "vidA-2", duration: 10 }), prompt, ...reference };
    const answer = await this.#post(account, path, body);
    if (!answer || answer.status >= 300) return;
    const order = { account, kind, marker: prompt, path, body, idempotencyKey: undefined, state: "asked" as const };
    this.history.accept(order, read(accepted, answer).id, Date.now());
  }

  async #chat(account: Account, content: string): Promise<void> {
    const answer = await this.#post(account, "/v1/chat/completions", { model: "textA-1", messages: [{ role: "user", content }] });
    if (answer?.status !== 200) return;
    const { id } = read(accepted, answer);
    this.chats.set(id, account);
    this.#justAnswered.push({ id, at: performance.now() });
  }

  /** Called when the gateway ends. */
  gatewayEnds(): void {
    for (const { id, at } of this.#justAnswered.splice(0)) if (at > performance.now() - 1_000) this.unsettled.add(id);
  }

  async #post({ apiKey }: Account, path: string, body: object): Promise<Answer | undefined> {
    const answer = await this.#http.ask("POST", path, apiKey, { body });
    if (!answer) this.lost++;
    return answer;
  }

  /** Asks about a task. Throws if the answer is lost. */
  async #ask(method: "GET" | "POST", { id, order }: KnownTask, more = ""): Promise<Answer> {
    const answer = await this.#http.ask(method, `/v1/tasks/${id}${more}`, order.account.apiKey, method === "POST" ? { body: {} } : {});
    if (!answer) throw new Error(`${method} ${more} of ${id} got no answer`);
    return answer;
  }

  async cancelOne(): Promise<void> {
    const open = this.history.open();
    if (open.length > 0) await this.#ask("POST", this.#random.pick(open), "/cancel");
  }

  /** A credit of one unit, which a restored database does not know and the account's wallet object does. */
  async creditOne(): Promise<void> {
    const account = this.#random.pick(this.accounts.filter(({ quota }) => quota !== null));
    if (!account) return;
    await this.admin.changeAccount(account.id, { add: 1 });
    account.quota = (account.quota ?? 0) + micro(1);
  }

  /** Delivers messages, some of them twice and some not yet. A consumer that waits for the upstream is not waited for: it ends with its process. */
  deliver(): void {
    for (const message of this.mail.splice(0)) {
      if (this.#random.chance(0.1)) {
        this.mail.push(message);
        continue;
      }
      for (let copies = this.#random.chance(0.1) ? 2 : 1; copies > 0; copies--)
        void this.#gateway.deliver(message).then(
          (again) => again && this.mail.push(message),
          () => this.mail.push(message),
        );
    }
  }

  /** Asks for every task that was open when it was last seen. Returns how many of them still are. */
  async look(): Promise<number> {
    const left = await Promise.all(this.history.open().map((task) => this.#lookAt(task)));
    return left.filter(Boolean).length;
  }

  async #lookAt(task: KnownTask): Promise<boolean> {
    const before = task.sight;
    const answer = await this.#ask("GET", task);
    // Its record is gone after a week: the ledger alone has its end.
    if (answer.status === 404) return false;
    if (answer.status === 200) this.history.saw(task, before, read(shown, answer).data as Sight);
    return task.final === undefined;
  }

  /** Reads the receipts of final tasks. One that was read before must say the same. */
  async readReceipts(): Promise<void> {
    for (const task of this.history.tasks.values()) {
      if (!task.final || !this.#random.chance(0.5)) continue;
      const answer = await this.#ask("GET", task, "/receipt");
      if (answer.status !== 200) continue;
      const charged = micro(read(receipt, answer).receipt.charged);
      const first = this.receipts.get(task.id) ?? charged;
      if (first !== charged) throw new Error(`${task.id}: receipts of ${first} and ${charged}`);
      this.receipts.set(task.id, charged);
    }
  }
}
