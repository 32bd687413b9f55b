/** Typical durations by kind, model, route, length and resolution: recorded when tasks end, cached in each isolate, shared through the database. */

import type { Kind, Route } from "../catalog/models.ts";
import type { Parameters } from "../catalog/parse.ts";
import { addDurations, readDurations } from "../db/typical-times.ts";
import { alert } from "../base/log.ts";
import { type CompletedTask, firstRoute, type RunSeconds } from "./record.ts";

/** The part of the invocation's context that lets work continue after the answer. */
type Background = Pick<ExecutionContext, "waitUntil">;

interface Work {
  kind: Kind;
  model: string;
  /** The first route. Tasks that another route completed are not recorded. */
  route: Route;
  /** Longer videos and higher resolutions take longer. */
  parameters: Pick<Parameters, "duration" | "resolution">;
}

/** What the durations of recent tasks say about the next one. */
export interface Learned {
  /** The median in whole seconds. */
  typicalSeconds: number;
  runSeconds: RunSeconds;
}

/** The minimum number of durations for an estimate. */
const minDurations = 10;
const refreshMs = 60_000;
/** A row is written after this many tasks or this much time, whichever comes first. */
const maxUnwritten = 25;
const writeMs = 600_000;

const learned = new Map<string, Learned>();
let readAt = -Infinity;
const unwritten = new Map<string, { seconds: number[]; writtenAt: number }>();

const workName = ({ kind, model, route, parameters: { duration, resolution } }: Work) =>
  [kind, model, route.provider, route.model, ...(duration === undefined ? [] : [`${duration}s`]), resolution ?? []].flat().join(" ");

function learn(sort: string, seconds: number[]): void {
  const known = learnDurations(seconds);
  if (known) learned.set(sort, known);
}

/** The estimate from the durations of recent tasks, at most a hundred of them, in seconds; undefined if there are fewer than ten. */
export function learnDurations(seconds: number[]): Learned | undefined {
  const count = seconds.length;
  if (count < minDurations) return undefined;
  const sorted = seconds.toSorted((a, b) => a - b);
  const mean = seconds.reduce((sum, one) => sum + one, 0) / count;
  const [low = mean, last = mean] = [sorted[Math.floor(0.02 * count)], sorted[count - 1 - Math.floor(0.01 * count)]];
  // Many equal short ones: the first poll may have found work that had ended long before. An earlier one looks for it.
  const first = sorted.filter((one) => one <= low + 0.5).length > 0.9 * count ? 0.93 * low : low;
  return { typicalSeconds: Math.max(1, Math.round(median(seconds))), runSeconds: { first, mean, last } };
}

/** The median of a list that is not empty. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low = NaN, high = low] = sorted.slice(Math.floor(middle), Math.ceil(middle) + 1);
  return (low + high) / 2;
}

/** The estimate from the last hundred, or undefined while there are fewer than ten. Answers from memory, which is refreshed in the background once a minute. */
export function learnedLately(db: Env["DB"], background: Background, work: Work): Learned | undefined {
  if (Date.now() - readAt > refreshMs) {
    readAt = Date.now();
    background.waitUntil(refresh(db));
  }
  return learned.get(workName(work));
}

async function refresh(db: Env["DB"]): Promise<void> {
  try {
    for (const [sort, seconds] of await readDurations(db)) learn(sort, seconds);
  } catch (error) {
    alert("typical_times", { outcome: "fault" }, error);
  }
}

type Ended = Pick<CompletedTask, "submission" | "createdAt" | "askedAt" | "readyAt" | "finalAt">;

/**
 * Records the duration of a completed task: from the start of the provider's work to the poll that found its end; from its submission to its end if it
 * was not polled. Never throws. Durations that an ended isolate has not written are lost, which affects only estimates and polls.
 */
export async function noteDuration(db: Env["DB"], { submission, createdAt, askedAt, readyAt, finalAt }: Ended): Promise<void> {
  const ms = readyAt === undefined ? finalAt - createdAt : readyAt - (askedAt ?? createdAt);
  const sort = workName({ ...submission, route: firstRoute(submission.routes) });
  const known = unwritten.get(sort) ?? { seconds: [], writtenAt: -Infinity };
  known.seconds.unshift(Math.round(ms / 100) / 10);
  unwritten.set(sort, known);
  if (known.seconds.length < maxUnwritten && Date.now() - known.writtenAt < writeMs) return;
  unwritten.set(sort, { seconds: [], writtenAt: Date.now() });
  await writeDurations(db, sort, known.seconds);
}

async function writeDurations(db: Env["DB"], sort: string, seconds: number[]): Promise<void> {
  try {
    learn(sort, await addDurations(db, sort, seconds));
  } catch (error) {
    alert("typical_times", { outcome: "fault" }, error);
  }
}
