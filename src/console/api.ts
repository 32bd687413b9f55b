/** What the gateway gives the console with each request: its API, to be asked in the name of who is signed in. */

import type { Caller } from "../db/callers.ts";
import type { PriceOverrides } from "../catalog/prices.ts";
import type { Routes } from "../catalog/routes.ts";
import type { Task } from "../tasks/record.ts";

/** What the gateway asks, and as it stands. */
export interface Upstreams {
  providers: {
    name: string;
    /** Its secret or binding is set. */
    on: boolean;
    /** Its credentials or money failed at the machine that answers, which asks others first for a minute. */
    aside: boolean;
  }[];
  prices: PriceOverrides;
  routes: Routes;
}

export interface Api {
  /** Answers a request to the gateway as if the caller's key had come with it. */
  ask(caller: Caller, request: Request): Promise<Response>;
  /** A task's whole record, which its caller is not shown; null when there is none, or none of this account. */
  record(accountId: string, taskId: string): Promise<Task | null>;
  /** Providers, routes and prices as configured, without secrets and addresses. For admins. */
  upstreams(): Promise<Upstreams>;
}
