/** What clients look at: tasks by every path, lists, balances, files. Whatever is seen of a task is held against what was seen before. */

import { balance } from "../support/api-answers.ts";
import { digestFaults } from "../support/file-checks.ts";
import { kindStatus, taskAnswer, taskList, type TaskData } from "./answers.ts";
import type { Account, Journal, KnownTask } from "./journal.ts";
import { read, type Traffic } from "./traffic.ts";

const pageSize = 100;
const kindPaths = { image: undefined, video: "/v1/videos/generations", remix: "/v1/videos/generations", character: "/v1/characters_tasks" };

/** The questions of a run's clients. */
export class Queries {
  readonly #journal: Journal;
  readonly #traffic: Traffic;

  constructor(journal: Journal, traffic: Traffic) {
    this.#journal = journal;
    this.#traffic = traffic;
  }

  /** The generic query. Undefined when the answer was lost; an accepted task that is not there is a fault. */
  async task(task: KnownTask, waitSeconds?: number): Promise<TaskData | undefined> {
    const before = task.sight;
    const wait = waitSeconds === undefined ? "" : `?wait=${waitSeconds}`;
    const answer = await this.#traffic.ask("GET", `/v1/tasks/${task.id}${wait}`, task.order.account.apiKey);
    if (!answer) return undefined;
    if (answer.status !== 200) {
      this.#journal.fault(`${task.id} was accepted, its query answered ${answer.status}`);
      return undefined;
    }
    const { data } = read(taskAnswer, answer);
    this.#journal.saw(task, before, { ...data, error: data.error?.code });
    return data;
  }

  /** The query of the task's own kind, where there is one. */
  async taskOfKind(task: KnownTask): Promise<void> {
    const path = kindPaths[task.order.kind];
    if (!path) return void (await this.task(task));
    const before = task.sight;
    const answer = await this.#traffic.ask("GET", `${path}/${task.id}`, task.order.account.apiKey);
    if (!answer) return;
    if (answer.status === 200) this.#journal.saw(task, before, read(kindStatus, answer));
    else this.#journal.fault(`${task.id} was accepted, ${path} answered ${answer.status}`);
  }

  /** Ends a task. One that was final before is refused. */
  async cancel(task: KnownTask): Promise<void> {
    const before = task.sight;
    task.isCancelAsked = true;
    const answer = await this.#traffic.ask("POST", `/v1/tasks/${task.id}/cancel`, task.order.account.apiKey);
    if (!answer) return;
    this.#journal.count(`cancellations answered ${answer.status}`);
    if (answer.status === 409) return;
    if (answer.status !== 200) return this.#journal.fault(`cancelling ${task.id} was answered ${answer.status}`);
    const { data } = read(taskAnswer, answer);
    this.#journal.saw(task, before, { ...data, error: data.error?.code });
    if (data.status !== "failed") this.#journal.fault(`${task.id} was cancelled and is ${data.status}`);
  }

  /** One page of the account's tasks, and whether there are more. Undefined when the answer was lost. */
  async list(account: Account, after?: string): Promise<{ data: TaskData[]; hasMore: boolean } | undefined> {
    const before = new Map([...this.#journal.tasks].map(([id, task]) => [id, task.sight]));
    const answer = await this.#traffic.ask("GET", `/v1/tasks?limit=${pageSize}${after ? `&after=${after}` : ""}`, account.apiKey);
    if (!answer) return undefined;
    const { data, has_more: hasMore } = read(taskList, answer);
    for (const one of data) {
      const known = this.#journal.tasks.get(one.id);
      const sight = before.get(one.id);
      if (known && sight) this.#journal.saw(known, sight, { ...one, error: one.error?.code });
      if (known && known.order.account !== account) this.#journal.fault(`${one.id} is listed for ${account.name}, it is not theirs`);
    }
    return { data, hasMore };
  }

  /** Both balances: never below zero. */
  async balances(account: Account): Promise<void> {
    for (const path of ["/v1/balance", "/v1/user/balance"]) {
      const answer = await this.#traffic.ask("GET", path, account.apiKey);
      if (!answer) continue;
      const { remain_balance: remaining, used_balance: used, unlimited_quota: isUnlimited } = read(balance, answer);
      if (used < 0 || (isUnlimited ? remaining !== -1 : remaining < 0))
        this.#journal.fault(`${path} of ${account.name}: remaining ${remaining}, used ${used}`);
    }
  }

  /** Fetches a file and compares it with its digest. False when it was lost on the way. */
  async file(url: string, owner: string): Promise<boolean> {
    const faults = await this.#traffic.attempt(`GET ${new URL(url).pathname}`, async (signal) => {
      const response = await fetch(url, { signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (!response.headers.has("x-request-id")) throw new Error(`answered ${response.status} by somebody else`);
      if (response.status !== 200) return [`its file answered ${response.status}`];
      return digestFaults({ bytes, type: "", digest: response.headers.get("repr-digest") });
    });
    for (const fault of faults ?? []) this.#journal.fault(`${owner}: ${fault}`);
    return faults !== undefined;
  }
}

/** The addresses of all files of a completed task. */
export function filesOf({ result }: TaskData): string[] {
  const videos = (result?.videos ?? []).flatMap(({ url, thumbnail }) => (thumbnail ? [...url, thumbnail] : url));
  const portraits = (result?.data?.characters ?? []).map((character) => character.profile_picture_url);
  return [...(result?.images ?? []).flatMap(({ url }) => url), ...videos, ...portraits];
}
