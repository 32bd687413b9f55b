/** Reads the arguments of a tool. Each function throws `ApiRefusal` with the correction to make. */

import { ApiRefusal } from "./api-client.ts";
import type { Arguments } from "./context.ts";
import { type Action, modelNamed, type ModelEntry } from "./models.ts";
import { maxWaitSeconds } from "./wait.ts";

/**
 * The API has one path for videos and characters: checks that the arguments describe the kind that the tool creates. Throws `ApiRefusal`.
 */
export function requireAction(action: Action, args: Arguments, models: ModelEntry[]): void {
  const given = ["url", "from_task", "timestamps"].filter((name) => args[name] !== undefined && args[name] !== null);
  if (action === "video" && given[0] !== undefined) throw invalid(given[0], "is an argument of create_character");
  if (action !== "character") return;
  if (!given.includes("url") && !given.includes("from_task")) throw invalid("from_task", "or url is required");
  const able = models.filter(({ actions }) => actions?.character);
  const model = modelNamed(models, args["model"]);
  if (model && !able.includes(model)) throw invalid("model", `must be one of ${names(able)}`);
}

export const names = (models: ModelEntry[]) => models.map(({ id }) => id).join(", ");
export const without = (args: Arguments, left: string[]) =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !left.includes(name)));
export const invalid = (param: string, reason: string) => new ApiRefusal(`invalid_request: ${param} ${reason}`);

export function readTaskId({ task_id }: Arguments): string {
  if (typeof task_id !== "string" || task_id === "") throw invalid("task_id", "is required: the id that a tool returned");
  return task_id;
}

export const taskPath = (args: Arguments) => `/v1/tasks/${encodeURIComponent(readTaskId(args))}`;

export function readWait({ wait: seconds }: Arguments): number {
  if (seconds === undefined || seconds === null) return maxWaitSeconds;
  if (typeof seconds !== "number" || !Number.isInteger(seconds) || seconds < 0 || seconds > maxWaitSeconds)
    throw invalid("wait", `must be a whole number of seconds from 0 to ${maxWaitSeconds}`);
  return seconds;
}
