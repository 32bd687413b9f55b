/** The clients' queries: tasks by every path until their ends, lists, balances, files. Each answer about a task is compared with the earlier ones. */

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import {
  balance,
  characterStatus,
  resultCharacters,
  resultImages,
  taskAnswer,
  type TaskData,
  taskList,
  resultVideos,
  videoStatus,
} from "../support/api-answers.ts";
import { digestFaults } from "../support/file-checks.ts";
import type { Account, History, Kind, KnownTask } from "../engine/history.ts";
import { read, type HttpClient } from "../engine/http-client.ts";

const pageSize = 100;
const kindPaths = { image: undefined, video: "/v1/videos/generations", remix: "/v1/videos/generations", character: "/v1/characters_tasks" };

const kindStatus = z.union([videoStatus, characterStatus]);

/** The queries of a run's clients. */
export class Queries {
  readonly #history: History;
  readonly #http: HttpClient;

  constructor(history: History, http: HttpClient) {
    this.#history = history;
    this.#http = http;
  }

  /** The generic query. Undefined if the answer was lost; a missing accepted task is a fault. */
  async task(task: KnownTask, waitSeconds?: number): Promise<TaskData | undefined> {
    const before = task.sight;
    const wait = waitSeconds === undefined ? "" : `?wait=${waitSeconds}`;
    const answer = await this.#http.ask("GET", `/v1/tasks/${task.id}${wait}`, task.order.account.apiKey);
    if (!answer) return undefined;
    if (answer.status !== 200) {
      this.#history.fault(`${task.id} was accepted, its query answered ${answer.status}`);
      return undefined;
    }
    const { data } = read(taskAnswer, answer);
    this.#history.saw(task, before, { ...data, error: data.error?.code });
    return data;
  }

  /** The query of the task's own kind, if there is one. */
  async taskOfKind(task: KnownTask): Promise<void> {
    const path = kindPaths[task.order.kind];
    if (!path) return void (await this.task(task));
    const before = task.sight;
    const answer = await this.#http.ask("GET", `${path}/${task.id}`, task.order.account.apiKey);
    if (!answer) return;
    if (answer.status === 200) this.#history.saw(task, before, { ...read(kindStatus, answer), error: undefined });
    else this.#history.fault(`${task.id} was accepted, ${path} answered ${answer.status}`);
  }

  /** Cancels a task. A final task must be refused. */
  async cancel(task: KnownTask): Promise<void> {
    const before = task.sight;
    task.isCancelAsked = true;
    const answer = await this.#http.ask("POST", `/v1/tasks/${task.id}/cancel`, task.order.account.apiKey);
    if (!answer) return;
    this.#history.count(`cancellations answered ${answer.status}`);
    if (answer.status === 409) return;
    if (answer.status !== 200) return this.#history.fault(`cancelling ${task.id} was answered ${answer.status}`);
    const { data } = read(taskAnswer, answer);
    this.#history.saw(task, before, { ...data, error: data.error?.code });
    if (data.status !== "failed") this.#history.fault(`${task.id} was cancelled and is ${data.status}`);
  }

  /** One page of the account's tasks, and whether there are more. Undefined if the answer was lost. */
  async list(account: Account, after?: string): Promise<{ data: TaskData[]; hasMore: boolean } | undefined> {
    const before = new Map([...this.#history.tasks].map(([id, task]) => [id, task.sight]));
    const answer = await this.#http.ask("GET", `/v1/tasks?limit=${pageSize}${after ? `&after=${after}` : ""}`, account.apiKey);
    if (!answer) return undefined;
    const { data, has_more: hasMore } = read(taskList, answer);
    for (const one of data) {
      const known = this.#history.tasks.get(one.id);
      const sight = before.get(one.id);
      if (known && sight) this.#history.saw(known, sight, { ...one, error: one.error?.code });
      if (known && known.order.account !== account) this.#history.fault(`${one.id} is listed for ${account.name}, it is not theirs`);
    }
    return { data, hasMore };
  }

  /** Both balances must not be negative. */
  async balances(account: Account): Promise<void> {
    for (const path of ["/v1/balance", "/v1/user/balance"]) {
      const answer = await this.#http.ask("GET", path, account.apiKey);
      if (!answer) continue;
      const { remain_balance: remaining, used_balance: used, unlimited_quota: isUnlimited } = read(balance, answer);
      if (used < 0 || (isUnlimited ? remaining !== -1 : remaining < 0))
        this.#history.fault(`${path} of ${account.name}: remaining ${remaining}, used ${used}`);
    }
  }

  /** Downloads a file and compares it with its digest. False if the answer was lost. */
  async file(url: string, owner: string): Promise<boolean> {
    const faults = await this.#http.attempt(`GET ${new URL(url).pathname}`, async (signal) => {
      const response = await fetch(url, { signal });
      const bytes = new Uint8Array(await response.arrayBuffer());
      if (!response.headers.has("x-request-id")) throw new Error(`answered ${response.status} by another server`);
      if (response.status !== 200) return [`its file answered ${response.status}`];
      return digestFaults({ bytes, type: "", digest: response.headers.get("repr-digest") });
    });
    for (const fault of faults ?? []) this.#history.fault(`${owner}: ${fault}`);
    return faults !== undefined;
  }
}

/** The URLs of all files of a completed task. */
export function listFiles({ result }: TaskData): string[] {
  const videos = resultVideos(result).flatMap(({ url, thumbnail }) => (thumbnail ? [...url, thumbnail] : url));
  const portraits = resultCharacters(result).map((character) => character.profile_picture_url);
  return [...resultImages(result).flatMap(({ url }) => url), ...videos, ...portraits];
}

const roundMs = 1_000;
const atOnce = 8;
/** The longest duration of a task from its submission, and the additional time until its end must be visible. */
const deadlineMs: Record<Kind, number> = { image: 120_000, character: 300_000, video: 600_000, remix: 600_000 };
const graceMs = 15_000;

/** Polls all open tasks until the load ends. */
export async function watch(history: History, queries: Queries, gateway: { readonly isUp: boolean }, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    await inTurns(gateway.isUp ? history.open() : [], async (task) => {
      await queries.task(task).catch((error: unknown) => history.fault(`${task.id}: ${String(error)}`));
    });
    await sleep(roundMs);
  }
}

/** Waits until all tasks are final. A task past its deadline is a fault, and is not awaited. */
export async function untilAllFinal(history: History, stopping: AbortSignal): Promise<void> {
  for (;;) {
    const open = history.open();
    const late = open.filter(({ order, acceptedAt }) => Date.now() > acceptedAt + deadlineMs[order.kind] + graceMs);
    if (stopping.aborted || late.length === open.length) {
      for (const { id, order, sight } of late)
        history.fault(`${id} (${order.kind}) is past its deadline and still ${sight.status} ${sight.progress}`);
      return;
    }
    await sleep(roundMs / 2);
  }
}

/** Runs the work for each item, a few at a time. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}
