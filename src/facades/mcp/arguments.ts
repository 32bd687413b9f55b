/** Reads the arguments of a tool. Each function throws `ApiRefusal` with the correction to make. */

import { toSegment } from "../client.ts";
import { ApiRefusal } from "./errors.ts";
import type { Arguments } from "./context.ts";
import { type Action, modelNamed, type ModelEntry } from "./models.ts";
import { maxWaitSeconds } from "./wait.ts";

/**
 * The API has one path for videos and characters: checks that the arguments describe the kind that the tool creates. Throws `ApiRefusal`.
 */
export function requireAction(action: Action, args: Arguments, models: ModelEntry[]): void {
  if (action !== "character") return;
  if (!isGiven(args["url"]) && !isGiven(args["from_task"])) throw invalid("from_task", "or url is required");
  const able = models.filter(({ actions }) => actions?.character);
  const model = modelNamed(models, args["model"]);
  if (model && !able.includes(model)) throw invalid("model", `must be one of ${names(able)}`);
}

const isGiven = (value: unknown) => value !== undefined && value !== null;

/** Refuses arguments that the tool does not have: an ignored argument would make, and charge, something else than was asked for. */
export function requireKnown(tool: string, args: Arguments, known: string[]): void {
  const unknown = Object.keys(args).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const shown = unknown.slice(0, 20).map((name) => name.slice(0, 100));
  const verb = unknown.length === 1 ? "is not an argument" : "are not arguments";
  throw invalid(shown.join(", "), `${verb} of ${tool}, which takes ${known.join(", ") || "none"}`);
}

export const names = (models: ModelEntry[]) => models.map(({ id }) => id).join(", ");
export const without = (args: Arguments, left: string[]) =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !left.includes(name)));
export const invalid = (param: string, reason: string) => new ApiRefusal(`invalid_request: ${param} ${reason}`);

export function readTaskId({ task_id }: Arguments): string {
  if (typeof task_id !== "string" || task_id === "") throw invalid("task_id", "is required: the id that a tool returned");
  return task_id;
}

export const taskPath = (args: Arguments) => `/v1/tasks/${toSegment(readTaskId(args))}`;

/** Throws `ApiRefusal` for anything but a boolean: what should not be charged must not be charged because of a wrong type. */
export function readDryRun({ dry_run: isDryRun }: Arguments): boolean {
  if (!isGiven(isDryRun)) return false;
  if (typeof isDryRun !== "boolean") throw invalid("dry_run", "must be true or false");
  return isDryRun;
}

/** Refuses `2` as text beside the number 2: they would be two tasks, each charged. */
export function requireVariation({ variation }: Arguments): void {
  if (isGiven(variation) && !Number.isInteger(variation)) throw invalid("variation", "must be a whole number");
}

export function readWait({ wait: seconds }: Arguments): number {
  if (seconds === undefined || seconds === null) return maxWaitSeconds;
  if (typeof seconds !== "number" || !Number.isInteger(seconds) || seconds < 0 || seconds > maxWaitSeconds)
    throw invalid("wait", `must be a whole number of seconds from 0 to ${maxWaitSeconds}`);
  return seconds;
}
