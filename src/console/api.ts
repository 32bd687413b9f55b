/** What the gateway gives the console with each request: its API, to be asked in the name of who is signed in. */

import type { Caller } from "../accounts.ts";
import type { Task } from "../tasks/record.ts";

export interface Api {
  /** Answers a request to the gateway as if the caller's key had come with it. */
  ask(caller: Caller, request: Request): Promise<Response>;
  /** A task's whole record, which its caller is not shown; null when there is none, or none of this account. */
  record(accountId: string, taskId: string): Promise<Task | null>;
}
