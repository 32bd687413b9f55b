/**
 * The time from an upstream's end to the task's completion, with a thousand running videos: simulated, with the code's own schedule, one
 * message for each start and for each collection that no callback caused, and the platform's rules for consumers. The durations of network calls and of storing are
 * assumptions, all of them below.
 */

import { expect, test } from "vitest";
import { accepted, progressed } from "../../src/tasks/transitions/outcomes.ts";
import { pollDelayMs } from "../../src/tasks/transitions/poll-times.ts";
import type { OpenTask, Submission } from "../../src/tasks/record.ts";
import { newTask } from "../../src/tasks/transitions/task.ts";
import { randomNumbers } from "../support/random.ts";

/** Milliseconds, each between a minimum and a maximum. */
const times = {
  /** From the end of the work to the maker's call at the gateway. */
  call: [20, 80],
  /** One request to a maker. */
  request: [30, 80],
  /** One call of an object. */
  object: [3, 10],
  /** From sending a message to its consumer, if one is free. */
  message: [20, 60],
  /** Fetching and storing a video. */
  store: [60, 150],
} as const;
const underWay = 1_000;
const usualSeconds = 60;
const count = 6_000;
const maxConsumers = 250;

/** Events in the order of their times. */
class Agenda {
  now = 0;
  readonly #buckets = new Map<number, (() => void)[]>();
  #last = 0;

  in(ms: number, run: () => void): void {
    const at = Math.max(this.now, Math.round(this.now + ms));
    this.#last = Math.max(this.#last, at);
    const bucket = this.#buckets.get(at);
    if (bucket) bucket.push(run);
    else this.#buckets.set(at, [run]);
  }

  run(): void {
    for (; this.now <= this.#last; this.now++) {
      const due = this.#buckets.get(this.now) ?? [];
      for (let at = 0; at < due.length; at++) due[at]!();
      this.#buckets.delete(this.now);
    }
  }
}

type Polling = "callbacks" | "schedule" | "every five seconds";

/** The lags of all videos in milliseconds, the shortest first, and the number of polls of each. */
function simulate(polling: Polling): { lags: number[]; polls: number } {
  const random = randomNumbers(7);
  const agenda = new Agenda();
  const take = (name: keyof typeof times) => times[name][0] + random() * (times[name][1] - times[name][0]);
  const lags: number[] = [];
  let polls = 0;

  // A consumer processes one message at a time; another consumer is added when one has ended.
  const waiting: (() => number)[] = [];
  let consumers = 1;
  let busy = 0;
  const consume = () => {
    while (busy < consumers && waiting.length > 0) {
      busy++;
      agenda.in(waiting.shift()!(), () => {
        busy--;
        consumers = Math.min(maxConsumers, consumers + 1);
        consume();
      });
    }
  };
  const send = (workMs: () => number) =>
    agenda.in(take("message"), () => {
      waiting.push(workMs);
      consume();
    });

  const begin = () => {
    const submission = { kind: "video", typicalSeconds: usualSeconds, deadlineSeconds: 600, routes: [{ provider: "p", model: "m" }] };
    let task: OpenTask = { ...newTask("task", submission as unknown as Submission, agenda.now), step: { do: "start", at: 0, sent: 1 } };
    let isCollected = false;
    let doneAt = Infinity;
    const delay = (requestedMs?: number) => pollDelayMs(task, "failed", polling === "callbacks", requestedMs, agenda.now);
    const requestedMs = polling === "every five seconds" ? 5_000 : undefined;
    const poll = (isCalled = false) =>
      agenda.in(take("request"), () => {
        if (isCollected || task.step.do !== "poll") return;
        polls++;
        if (agenda.now < doneAt) {
          if (task.step.at > agenda.now) return;
          task = progressed(task, undefined, delay(requestedMs), agenda.now);
          wake();
          return;
        }
        isCollected = true;
        // The consumer claims the work, requests its outputs, stores them and reports them; after a call its own request does.
        const collect = () => {
          const workMs = take("object") + take("request") + take("store") + take("object");
          agenda.in(workMs, () => lags.push(agenda.now - doneAt));
          return workMs;
        };
        if (isCalled) collect();
        else send(collect);
      });
    const wake = () => agenda.in(task.step.at - agenda.now, () => task.step.at <= agenda.now && poll());
    send(() => {
      const startMs = take("object") + take("request") + take("object");
      agenda.in(startMs, () => {
        task = accepted({ ...task, askedAt: agenda.now }, { operation: "o", pollAfterMs: delay(requestedMs) }, false, agenda.now);
        wake();
        // Most videos take between two thirds and one and a half times the typical duration.
        const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
        const workMs = Math.min(500_000, 1000 * usualSeconds * Math.exp(0.2 * normal));
        doneAt = Math.round(agenda.now + workMs);
        agenda.in(workMs, () => {
          if (polling === "callbacks") agenda.in(take("call") + take("object"), () => poll(true));
        });
      });
      return startMs;
    });
  };
  for (let number = 0; number < count; number++) agenda.in((number * usualSeconds * 1000) / underWay, begin);
  agenda.run();
  expect(lags).toHaveLength(count);
  return { lags: lags.sort((a, b) => a - b), polls: polls / count };
}

const percentile = (sorted: number[], share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))]!);

test("with callbacks, 99 of 100 videos are completed within half a second of their upstream's end", () => {
  const seen = (["callbacks", "schedule", "every five seconds"] as const).map((polling) => {
    const { lags, polls } = simulate(polling);
    return { polling, polls, p50: percentile(lags, 0.5), p99: percentile(lags, 0.99), longest: percentile(lags, 1) };
  });
  console.log(seen);
  const [called, scheduled, often] = seen;
  expect(called!.p99).toBeLessThan(500);
  expect(called!.polls).toBeLessThan(1.5);
  // Without callbacks: half as many polls as with polling every five seconds, and about the same lag.
  expect(scheduled!.p50).toBeLessThan(1.2 * often!.p50);
  expect(scheduled!.polls).toBeLessThan(0.7 * often!.polls);
});
