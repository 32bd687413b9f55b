/** Shared by the admin pages: access for admins only, their navigation, and a log line for each action. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import type { MiddlewareHandler } from "hono";
import type { Child } from "hono/jsx";
import { type Account, accountById } from "../../db/accounts.ts";
import { log } from "../../base/log.ts";
import { isAtLeast } from "../access.ts";
import type { Actor } from "../../db/audit-log.ts";
import { actor, page, nothingHere } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import type { Arrangement } from "../shell/layout.tsx";
import type { PageStatus } from "../page-status.ts";
import { NavLinks } from "../parts/nav-links.tsx";

/** 404 for all other users. Runs after `signedIn`, which reads the account again for each request. */
export const adminOnly: MiddlewareHandler<ConsoleEnvironment> = async (c, next) =>
  c.var.account.admin === 1 && isAtLeast(c.var.membership.role, "admin") ? next() : nothingHere(c);

const parts = [
  ["/console/admin", "overview"],
  ["/console/admin/accounts", "admin_accounts"],
  ["/console/admin/models", "models"],
  ["/console/admin/providers", "admin_providers"],
  ["/console/admin/margins", "admin_margins"],
  ["/console/admin/tasks", "admin_open_tasks"],
  ["/console/admin/audit-log", "audit_log"],
] as const;

/** The section of a page; pages of no other section belong to the overview. */
const sectionOf = (path: string) => parts.slice(1).find(([part]) => path === part || path.startsWith(`${part}/`)) ?? parts[0];

/** An admin page with the navigation of the admin pages. */
export function adminPage(c: ConsoleContext, title: string, children: Child, status: PageStatus = 200, arrangement: Arrangement = {}) {
  const { t } = c.var;
  return page(
    c,
    title,
    <>
      <NavLinks
        label={t("admin")}
        of={parts.map((part) => ({ path: part[0], text: t(part[1]), isHere: part === sectionOf(c.req.path) }))}
      />
      {children}
    </>,
    status,
    arrangement,
  );
}

/** The account in the path, or undefined. */
export const accountAsked = (c: ConsoleContext): Promise<Account | undefined> => accountById(c.env.DB, c.req.param("id") ?? "");

/** Characters that change the direction of the text after them. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The account's name and address in a single line. Users choose their names, which must not reorder the address. */
export const accountName = ({ name, email }: Account) => (name ? `${name.replace(directions, "")} (${email})` : email);

/** The admin, in the audit log of an account that is not the admin's: its members see that the operator acted, not who. */
export const operator = (c: ConsoleContext): Actor => ({ ...actor(c), kind: "operator" });

/** Logs an admin's action on an account. */
export const note = (c: ConsoleContext, outcome: string, accountId: string, more: Record<string, string | number | boolean> = {}) =>
  log("admin", { by: c.var.account.id, account: accountId, outcome, ...more });

/** Calls the gateway's API as an account; the requests count against the admin's own rate limits. */
export const askAs = (c: ConsoleContext, accountId: string, path: string, init: RequestInit = {}): Promise<Response> =>
  askGateway(c, path, init, { accountId, keyId: c.var.caller.keyId });
