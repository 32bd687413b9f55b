/** For whom the console made a request: kept in memory, where no caller can write. */

import type { Actor } from "./audit-log.ts";
import type { Caller } from "./callers.ts";

const callers = new WeakMap<Request, Caller>();
const admins = new WeakMap<Request, Actor>();

/** Notes that the console makes this request for a user whom it has authenticated. */
export const vouch = (request: Request, caller: Caller): unknown => callers.set(request, caller);

/** Notes that the console makes this request for an admin whom it has authenticated. */
export const vouchAsOperator = (request: Request, admin: Actor): unknown => admins.set(request, admin);

/** The user for whom the console made this request; undefined for requests from elsewhere. */
export const vouchedCaller = (request: Request): Caller | undefined => callers.get(request);

/** The admin for whom the console made this request, which needs no operator's token; undefined for requests from elsewhere. */
export const vouchedAdmin = (request: Request): Actor | undefined => admins.get(request);
