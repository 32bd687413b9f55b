/** The bindings and variables of a request to the console, and hono's context with them. */

import type { Language, Translate } from "./messages.ts";
import type { Member, Person } from "./members.ts";
import type { SignedIn } from "./auth/contract.ts";
import type { ConsoleApi } from "../rpc/console-api.ts";
import type { Receive } from "../rpc/gateway-api.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Caller } from "../db/callers.ts";
import type { Account } from "../db/accounts.ts";
import type { Context } from "hono";
export interface ConsoleEnvironment {
  Bindings: ConsoleEnv & { API: ConsoleApi; RECEIVE: Receive };
  Variables: {
    language: Language;
    t: Translate;
    /** True once the request has been counted as a visit (`request-limits.ts`). */
    isVisit: boolean;
    user: Person;
    session: SignedIn["session"];
    account: Account;
    /** The user's membership of the account. */
    membership: Member;
    /** The caller with which the gateway's API is called. */
    caller: Caller;
    /** Set on pages that list models, see `withCatalog`. */
    catalog: Catalog;
  };
}

export type ConsoleContext = Context<ConsoleEnvironment>;
