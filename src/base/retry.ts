/** Retries an RPC to one of our Durable Objects, which can fail while the object is relocated. */

import { alert } from "./log.ts";

/** Returns the call's answer, or throws its last error. The call must be safe to repeat and make a new stub each time. */
export async function retry<T>(unit: string, task: string, call: () => Promise<T>, maxAttempts = 3): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      if (attempt === maxAttempts) throw error;
      alert(unit, { task, attempt, outcome: "retry" }, error);
      await scheduler.wait(100 * attempt);
    }
  }
}
