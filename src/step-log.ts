/** Log lines of a task's steps between its submission and its end; written only if the operator's `LOG` is `all`. */

import { logsSteps } from "./config.ts";
import { log, type LogFields } from "./log.ts";

/** Writes one line if `LOG` is `all`. */
export function logStep(env: Env, unit: string, fields: LogFields): void {
  if (logsSteps(env)) log(unit, fields);
}
