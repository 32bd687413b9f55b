/** What the forms of the account page share. */

import type { ConsoleContext } from "../context.ts";
import { freshSeconds } from "../auth/logins.ts";

/** Back to the page, with the code of the outcome in its address. */
export const back = (c: ConsoleContext, outcome: string) => c.redirect(`/console/account?${outcome}`, 303);

/** True soon after signing in: an unattended signed-in browser cannot be used to take over the account. */
export const isFresh = (c: ConsoleContext): boolean => Date.now() - c.var.session.createdAt.getTime() < freshSeconds * 1000;
