/** What tasks of each kind, model and route took lately: learned where tasks end, kept in each isolate, shared through the database. */

import type { Kind } from "../catalog/models.ts";
import type { Route } from "../catalog/routes.ts";
import { addDurations, readDurations } from "../db/typical-times.ts";
import { alert } from "../log.ts";
import type { CompletedTask } from "./record.ts";

/** What can outlive the answer that is given. */
type Background = Pick<ExecutionContext, "waitUntil">;

interface Work {
  kind: Kind;
  model: string;
  /** The one that is tried first. What another one took in its place is part of what callers wait. */
  route: Route;
}

/** Fewer say nothing. */
const fewest = 10;
const refreshMs = 60_000;
/** One row written for so many tasks, or for those of so much time. */
const mostUntold = 25;
const tellMs = 600_000;

const medians = new Map<string, number>();
let readAt = -Infinity;
const untold = new Map<string, { seconds: number[]; toldAt: number }>();

const sortOf = ({ kind, model, route }: Work) => `${kind} ${model} ${route.provider} ${route.model}`;

function learn(sort: string, seconds: number[]): void {
  if (seconds.length >= fewest) medians.set(sort, median(seconds));
}

/** Of a list that is not empty. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
}

/** The median of the last hundred in whole seconds, or undefined while there are fewer than ten. Answers from memory, which is read anew each minute beside the request. */
export function typicalSecondsLately(db: Env["DB"], background: Background, work: Work): number | undefined {
  if (Date.now() - readAt > refreshMs) {
    readAt = Date.now();
    background.waitUntil(refresh(db));
  }
  const seconds = medians.get(sortOf(work));
  return seconds === undefined ? undefined : Math.max(1, Math.round(seconds));
}

async function refresh(db: Env["DB"]): Promise<void> {
  try {
    for (const [sort, seconds] of await readDurations(db)) learn(sort, seconds);
  } catch (error) {
    alert("typical_times", { outcome: "fault" }, error);
  }
}

/** Takes note of what a completed task took, from its submission to its end. What an isolate has not told when it ends is lost, and only estimates need it. */
export function noteDuration(
  db: Env["DB"],
  background: Background,
  { submission, createdAt, finalAt }: Pick<CompletedTask, "submission" | "createdAt" | "finalAt">,
): void {
  const sort = sortOf({ ...submission, route: submission.routes[0]! });
  const known = untold.get(sort) ?? { seconds: [], toldAt: -Infinity };
  known.seconds.unshift(Math.round((finalAt - createdAt) / 100) / 10);
  untold.set(sort, known);
  if (known.seconds.length < mostUntold && Date.now() - known.toldAt < tellMs) return;
  untold.set(sort, { seconds: [], toldAt: Date.now() });
  background.waitUntil(tell(db, sort, known.seconds));
}

async function tell(db: Env["DB"], sort: string, seconds: number[]): Promise<void> {
  try {
    learn(sort, await addDurations(db, sort, seconds));
  } catch (error) {
    alert("typical_times", { outcome: "fault" }, error);
  }
}
