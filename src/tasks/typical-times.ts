/** Typical durations by kind, model and route: recorded when tasks end, cached in each isolate, shared through the database. */

import type { Kind } from "../catalog/models.ts";
import type { Route } from "../catalog/routes.ts";
import { addDurations, readDurations } from "../db/typical-times.ts";
import { alert } from "../log.ts";
import { type CompletedTask, firstRoute } from "./record.ts";

/** The part of the invocation's context that lets work continue after the answer. */
type Background = Pick<ExecutionContext, "waitUntil">;

interface Work {
  kind: Kind;
  model: string;
  /** The first route. Tasks that another route completed are not recorded. */
  route: Route;
}

/** The minimum number of durations for an estimate. */
const fewest = 10;
const refreshMs = 60_000;
/** A row is written after this many tasks or this much time, whichever comes first. */
const maxUntold = 25;
const tellMs = 600_000;

const medians = new Map<string, number>();
let readAt = -Infinity;
const untold = new Map<string, { seconds: number[]; toldAt: number }>();

const workName = ({ kind, model, route }: Work) => `${kind} ${model} ${route.provider} ${route.model}`;

function learn(sort: string, seconds: number[]): void {
  if (seconds.length >= fewest) medians.set(sort, median(seconds));
}

/** The median of a list that is not empty. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low = NaN, high = low] = sorted.slice(Math.floor(middle), Math.ceil(middle) + 1);
  return (low + high) / 2;
}

/** The median of the last hundred in whole seconds, or undefined while there are fewer than ten. Answers from memory, which is refreshed in the background once a minute. */
export function typicalSecondsLately(db: Env["DB"], background: Background, work: Work): number | undefined {
  if (Date.now() - readAt > refreshMs) {
    readAt = Date.now();
    background.waitUntil(refresh(db));
  }
  const seconds = medians.get(workName(work));
  return seconds === undefined ? undefined : Math.max(1, Math.round(seconds));
}

async function refresh(db: Env["DB"]): Promise<void> {
  try {
    for (const [sort, seconds] of await readDurations(db)) learn(sort, seconds);
  } catch (error) {
    alert("typical_times", { outcome: "fault" }, error);
  }
}

/** Records the duration of a completed task, from its submission to its end. Durations that an ended isolate has not written are lost, which affects only estimates. */
export function noteDuration(
  db: Env["DB"],
  background: Background,
  { submission, createdAt, finalAt }: Pick<CompletedTask, "submission" | "createdAt" | "finalAt">,
): void {
  const sort = workName({ ...submission, route: firstRoute(submission.routes) });
  const known = untold.get(sort) ?? { seconds: [], toldAt: -Infinity };
  known.seconds.unshift(Math.round((finalAt - createdAt) / 100) / 10);
  untold.set(sort, known);
  if (known.seconds.length < maxUntold && Date.now() - known.toldAt < tellMs) return;
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
