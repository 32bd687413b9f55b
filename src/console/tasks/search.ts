/** Lists an account's tasks for the gallery, filtered by the API and searched here, because only the tasks' records contain prompts. */

import type { ConsoleContext } from "../context.ts";
import { taskCharacter, taskPrompt, readTasks, type Refusal, readRefusal, type TaskData } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { withQuery } from "../list-address.ts";

const tasksOnPage = 24;

export interface Filters {
  kind?: string | undefined;
  status?: string | undefined;
  model?: string | undefined;
  /** Searched in prompts, references and usernames, case-insensitively. */
  q?: string | undefined;
}

export interface Found {
  tasks: TaskData[];
  /** The start of the next page: the last task that was examined; undefined at the end. */
  next: string | undefined;
  refusal: Refusal | undefined;
}

const matches = (task: TaskData, text: string) =>
  [taskPrompt(task), task.reference, taskCharacter(task)?.username].some((words) => words?.toLowerCase().includes(text));

/** A page of the account's tasks after the task `after`, newest first. A search reads at most `maxLists` lists of a hundred; a link continues it. A refusal of the API (a filter that it does not have) is passed on. */
export async function findTasks(c: ConsoleContext, { q, ...filters }: Filters, after: string | undefined, maxLists = 5): Promise<Found> {
  const text = q?.trim().toLowerCase() ?? "";
  const limit = text === "" ? tasksOnPage : 100;
  const tasks: TaskData[] = [];
  let next = after;
  for (let read = 0; read < (text === "" ? 1 : maxLists); read++) {
    const answer = await askGateway(c, withQuery("/v1/tasks", { ...filters, after: next, limit: String(limit) }));
    if (!answer.ok) return { tasks, next: undefined, refusal: await readRefusal(answer) };
    const { data, has_more: hasMore, next_after: nextAfter } = await readTasks(answer);
    for (const [at, task] of data.entries()) {
      next = task.id;
      if (text === "" || matches(task, text)) tasks.push(task);
      if (tasks.length === tasksOnPage) return { tasks, next: hasMore || at < data.length - 1 ? next : undefined, refusal: undefined };
    }
    if (!hasMore) return { tasks, next: undefined, refusal: undefined };
    // The list has asked as many objects as a request may: a link continues.
    if (nextAfter !== undefined) return { tasks, next: nextAfter, refusal: undefined };
  }
  return { tasks, next, refusal: undefined };
}
