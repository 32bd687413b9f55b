/** Tries a call to what is ours again: objects are moved at times, and what they have to be told must not be lost. */

import { alert } from "./log.ts";

const mostAttempts = 3;

/** The call's answer; what it throws the third time. It must be safe to repeat, and make a new stub each time. */
export async function retry<T>(unit: string, task: string, call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === mostAttempts) throw error;
      alert(unit, { task, attempt, outcome: "retry" }, error);
      await scheduler.wait(100 * attempt);
    }
  }
}
