/** What the gateway passes to the console with each request: its API, called as the signed-in user. */

import type { Caller } from "../db/callers.ts";
import type { PriceOverrides } from "../catalog/prices.ts";
import type { Routes } from "../catalog/routes.ts";
import type { Task } from "../tasks/record.ts";

/** Providers, routes and prices as configured, with their state. */
export interface Upstreams {
  providers: {
    name: string;
    /** Its secret or binding is set. */
    on: boolean;
    /** Its credentials or funds failed in this isolate, which uses other providers first for a minute. */
    aside: boolean;
  }[];
  prices: PriceOverrides;
  routes: Routes;
}

export interface Api {
  /** Answers a request like the gateway does for a request with the caller's key. */
  ask(caller: Caller, request: Request): Promise<Response>;
  /** A task's whole record, which its caller does not see; null if it does not exist or belongs to another account. */
  record(accountId: string, taskId: string): Promise<Task | null>;
  /** Providers, routes and prices as configured, without secrets and URLs. For admins. */
  upstreams(): Promise<Upstreams>;
}
