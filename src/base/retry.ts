/** Retries an RPC to one of our Durable Objects, which can fail while the object is relocated. */

import { alert, type LogFields } from "./log.ts";

/** What the platform says of a failed call (https://developers.cloudflare.com/durable-objects/best-practices/error-handling/). */
interface Fault {
  /** The object has too many calls: another one would give it more. */
  overloaded?: boolean;
  /** It was thrown where the object runs: by its own code or, also when it is reset, by the platform. */
  remote?: boolean;
  /** The connection was lost. */
  retryable?: boolean;
  /** The object was reset, by a new release or at a limit: the next call starts it again, without the calls that were too many. */
  durableObjectReset?: boolean;
}

/** True if the object or the connection to it ended during the call. */
const isInterrupted = ({ retryable, durableObjectReset }: Fault) => retryable === true || durableObjectReset === true;
/** True unless the object has too many calls. */
const isBearable = ({ overloaded, durableObjectReset }: Fault) => durableObjectReset === true || !overloaded;

/**
 * Returns the call's answer, or throws its last error. The call must be safe to repeat, and makes a new stub each time; `isRepeat`: an earlier
 * one may have done the work. `of` is what the log names: a task's id, or an account. `pauseMs` is the first pause; later ones are longer.
 */
export async function retry<T>(
  unit: string,
  of: string | Pick<LogFields, "account">,
  call: (isRepeat: boolean) => Promise<T>,
  maxAttempts = 3,
  mayPass: (fault: Fault) => boolean = isBearable,
  pauseMs = 100,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(attempt > 1);
    } catch (error) {
      if (attempt === maxAttempts || !mayPass(error as Fault)) throw error;
      alert(unit, { ...(typeof of === "string" ? { task: of } : of), attempt, outcome: "retry" }, error);
      await scheduler.wait(pauseMs * attempt);
    }
  }
}

/**
 * The same for a caller who waits for the answer: a call that broke because its object restarted, as each one does when a release is deployed,
 * is made again. A fault of the object's own code is thrown at once.
 */
export const retryRestart = <T>(
  unit: string,
  of: string | Pick<LogFields, "account">,
  call: (isRepeat: boolean) => Promise<T>,
): Promise<T> => retry(unit, of, call, 3, (fault) => isBearable(fault) && (!fault.remote || isInterrupted(fault)));
