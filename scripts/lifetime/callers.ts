/** The callers of a lifetime: what they submit, and what they were told about it. */

import { HeldUpstream, stopped, type Stop } from "../../test/programs/support/held-upstream.ts";
import type { Message, MixedGateway } from "../../test/programs/support/mixed-gateway.ts";
import { micro } from "../support/bill.ts";
import type { Random } from "../support/random.ts";

export interface Account {
  id: string;
  key: string;
  /** In millionths, with credits; null is no limit. */
  quota: number | null;
}

/** A task whose submission was answered. */
export interface Accepted {
  account: Account;
  id: string;
  /** The first final status that its caller saw; it must never change. */
  seen?: "completed" | "failed";
  /** The charge by its receipt, in millionths. */
  receipt?: number;
}

interface Shown {
  data: { status: string };
}

const stops: readonly Stop[] = ["start", "poll", "download"];
const quotas = [null, 2, 1000];
const adminToken = "test-admin";

export class Callers {
  readonly accounts: Account[] = [];
  readonly tasks = new Map<string, Accepted>();
  /** Chats that were answered, with their account. */
  readonly chats = new Map<string, Account>();
  /** Submissions whose answer was lost with a process. */
  lost = 0;
  readonly upstream = new HeldUpstream();
  readonly mail: Message[] = [];
  readonly #random: Random;
  readonly #gateway: MixedGateway;
  #count = 0;

  constructor(random: Random, gateway: MixedGateway) {
    this.#random = random;
    this.#gateway = gateway;
  }

  async ask(path: string, { key = adminToken, method, body }: { key?: string; method?: string; body?: object } = {}) {
    const response = await this.#gateway.fetch(path, {
      method: method ?? (body ? "POST" : "GET"),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Asks the operator's API. Throws unless the answer is a success. */
  async admin<T>(path: string, method = "GET", body?: object): Promise<T> {
    const answer = await this.ask(`/admin${path}`, { method, ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  }

  async open(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const quota = this.#random.pick(quotas);
      const { id } = await this.admin<{ id: string }>("/accounts", "POST", { email: `caller${at}@example.com`, quota });
      const limit = this.#random.pick([null, null, 1]);
      const { key } = await this.admin<{ key: string }>(`/accounts/${id}/keys`, "POST", { name: "test", quota: limit });
      this.accounts.push({ id, key, quota: quota === null ? null : micro(quota) });
    }
  }

  /** Has each wallet do what its alarms would have done while the clock was moved on. */
  async wakeWallets(): Promise<void> {
    for (const { id } of this.accounts) await this.ask(`/audit/${id}`);
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
      [4, "images"],
      [4, "videos"],
      [3, "chat"],
    ] as const);
    if (kind === "chat") {
      const isHeld = this.#random.chance(0.2);
      const answered = this.#chat(account, isHeld ? `${stopped("chat", epoch)} Hello` : "Hello");
      return isHeld ? undefined : answered;
    }
    const body = kind === "images" ? { model: "imgA-4", prompt, ...reference } : { model: "vidA-2", duration: 10, prompt, ...reference };
    try {
      const { status, body: answer } = await this.ask(`/v1/${kind}/generations`, { key: account.key, body });
      if (status >= 300) return;
      const { id } = answer as { id: string };
      this.tasks.set(id, { account, id });
    } catch {
      this.lost++;
    }
  }

  async #chat(account: Account, content: string): Promise<void> {
    try {
      const body = { model: "textA-1", messages: [{ role: "user", content }] };
      const { status, body: answer } = await this.ask("/v1/chat/completions", { key: account.key, body });
      if (status === 200) this.chats.set((answer as { id: string }).id, account);
    } catch {
      this.lost++;
    }
  }

  async cancelOne(): Promise<void> {
    const open = [...this.tasks.values()].filter(({ seen }) => seen === undefined);
    if (open.length === 0) return;
    const { id, account } = this.#random.pick(open);
    await this.ask(`/v1/tasks/${id}/cancel`, { key: account.key, body: {} });
  }

  /** A credit of one unit, which a restored database does not know and the account's wallet object does. */
  async creditOne(): Promise<void> {
    const account = this.#random.pick(this.accounts.filter(({ quota }) => quota !== null));
    if (!account) return;
    await this.admin(`/accounts/${account.id}`, "PATCH", { add: 1 });
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
    const open = [...this.tasks.values()].filter(({ seen }) => seen === undefined);
    const left = await Promise.all(open.map((task) => this.#lookAt(task)));
    return left.filter(Boolean).length;
  }

  async #lookAt(task: Accepted): Promise<boolean> {
    const { id, account } = task;
    const { status, body } = await this.ask(`/v1/tasks/${id}`, { key: account.key });
    // Its record is gone after a week: the ledger alone has its end.
    if (status === 404) return false;
    if (status !== 200) return true;
    const { status: shown } = (body as Shown).data;
    if (shown !== "completed" && shown !== "failed") return true;
    task.seen = shown;
    return false;
  }

  /** Reads the receipts of final tasks. One that was read before must say the same. */
  async readReceipts(): Promise<void> {
    for (const task of this.tasks.values()) {
      if (task.seen === undefined || !this.#random.chance(0.5)) continue;
      const { status, body } = await this.ask(`/v1/tasks/${task.id}/receipt`, { key: task.account.key });
      if (status !== 200) continue;
      const charged = micro((body as { receipt: { charged: number } }).receipt.charged);
      if (task.receipt !== undefined && task.receipt !== charged) throw new Error(`${task.id}: receipts of ${task.receipt} and ${charged}`);
      task.receipt = charged;
    }
  }
}
