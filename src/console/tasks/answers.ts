/** Tasks and errors in the gateway API's answers, and the records behind them. */

import type { ConsoleContext } from "../context.ts";
import { isOthers } from "../../db/callers.ts";
import type { Task } from "../../tasks/record.ts";
import { taskCharacter, type ModelEntry, taskPrompt, readModels, readTasks, type TaskData } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import type { Translate } from "../messages.ts";

/** A task's whole record, which the API does not show; null if the account has no such task, or if it is not the member's own. */
export async function readRecord(c: ConsoleContext, id: string): Promise<Task | null> {
  const record = await c.env.API.record(c.var.account.id, id);
  return record && !isOthers(c.var.caller, record.submission.keyId) ? record : null;
}

export const isOpen = ({ status }: TaskData) => status !== "completed" && status !== "failed";

/** True if the error's own sentence says that nothing was charged. */
export const saysFree = (code: string | undefined): boolean => code === "provider_error" || code === "deadline_exceeded";

/** True if the task's files have expired. */
export const isGone = ({ expires_at }: TaskData) => expires_at !== undefined && 1000 * expires_at <= Date.now();

const longestTitle = /^[^]{0,120}/u;

/** The title of a task in one line: its prompt, else its character, else its kind. */
export function taskTitle(task: TaskData, t: Translate): string {
  const character = taskCharacter(task);
  const text = taskPrompt(task) || (character ? `@${character.username}` : t(`kind_${task.metadata.kind}`));
  const [title = text] = longestTitle.exec(text) ?? [];
  return title.length < text.length ? `${title}…` : title;
}

/** The account's newest tasks that this query chooses; none if the gateway refuses. */
export async function listTasks(c: ConsoleContext, query: string): Promise<TaskData[]> {
  const answer = await askGateway(c, `/v1/tasks?${query}`);
  return answer.ok ? (await readTasks(answer)).data : [];
}

/** The available models. */
export async function usableModels(c: ConsoleContext): Promise<ModelEntry[]> {
  const answer = await askGateway(c, "/v1/models");
  return answer.ok ? readModels(answer) : [];
}
