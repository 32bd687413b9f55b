/** Handles a provider's callback: polls the provider at once, or as soon as the minimum interval since the last poll has passed. */

import { pollOperation, type Poller } from "./poll.ts";
import { currentRoute, isFinal, type OpenTask } from "./record.ts";

/** A provider has called the URL of a task. True if finished work waits for the caller, who can collect it. Ignored if the task has ended or moved to another provider; work of earlier routes keeps its own polling schedule. */
export async function calledBack(provider: string, poller: Poller): Promise<boolean> {
  const { record, turn, canCollect } = poller;
  const { task } = record;
  if (!task || isFinal(task) || currentRoute(task).provider !== provider) return false;
  // Set in two more cases: before the start is reported, so that its first poll runs at once; and during a poll, whose answer may be older
  // than the call.
  turn.isCalled = true;
  if (task.step.do !== "poll" || turn.running || turn.notBefore > Date.now()) {
    pollSoon(poller);
    return false;
  }
  await pollInTurn(task, poller);
  return canCollect === true && record.task?.step.do === "collect";
}

/** Polls the current route's provider, unless a poll is running. */
export async function pollInTurn(task: OpenTask, poller: Poller): Promise<void> {
  await poller.turn.run(() => pollOperation(task, poller));
  if (poller.turn.isCalled) pollSoon(poller);
}

/** Brings the next poll forward. Writes nothing if the next poll is due earlier anyway, or if a poll is running: another one follows it. */
function pollSoon({ record, turn: { running, notBefore: at } }: Poller): void {
  const { task } = record;
  if (task?.step.do === "poll" && !running && task.step.at > at) record.commit({ ...(task as OpenTask), step: { do: "poll", at } });
}
