/** Log lines of a task's steps between its submission and its end; written only if the operator's `LOG` is `all`. */

import { logsSteps } from "./config.ts";
import { alert, log, type LogFields } from "./base/log.ts";

/** Writes one line if `LOG` is `all`. Never throws: a wrong `LOG` is logged, and must not stop tasks that run. */
export function logStep(env: Env, unit: string, fields: LogFields): void {
  try {
    if (!logsSteps(env)) return;
  } catch (error) {
    alert("log", { outcome: "wrong_variable" }, error);
  }
  log(unit, fields);
}
