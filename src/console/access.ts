/** What each role may open and send in the console. Paths that no rule names are for owners; the lowest role that is enough is named. */

import type { Role } from "../base/roles.ts";
import { roles } from "../base/roles.ts";

/** True if the role is the wanted one or a higher one. */
export const isAtLeast = (role: Role, wanted: Role): boolean => roles.indexOf(role) <= roles.indexOf(wanted);

interface Rule {
  path: RegExp;
  /** The lowest role that may read. */
  read: Role;
  /** The lowest role that may send forms. */
  write: Role;
}

/** The first rule that matches counts. Handlers narrow some further: members change only their own keys, and only owners make owners. */
const rules: Rule[] = [
  // The person, not the account: password, passkeys, sessions.
  { path: /^\/console\/account(\/|$)/, read: "viewer", write: "viewer" },
  { path: /^\/console\/(switch|members\/leave)$/, read: "viewer", write: "viewer" },
  { path: /^\/console\/credit$/, read: "viewer", write: "viewer" },
  { path: /^\/console\/first$/, read: "member", write: "member" },
  { path: /^\/console\/(playground|chat)(\/|$)/, read: "member", write: "member" },
  { path: /^\/console\/(tasks|characters|batches|files|thumbnails)(\/|$)/, read: "viewer", write: "member" },
  // The list shows no secret; the forms for changes are for those who may send them.
  { path: /^\/console\/keys$/, read: "viewer", write: "member" },
  { path: /^\/console\/keys\//, read: "member", write: "member" },
  // Requests of the documentation, sent as this user.
  { path: /^\/console\/try\//, read: "member", write: "member" },
  { path: /^\/console\/search$/, read: "viewer", write: "owner" },
  { path: /^\/console\/(models|logs|usage|running)(\/|$)/, read: "viewer", write: "owner" },
  { path: /^\/console$/, read: "viewer", write: "owner" },
  { path: /^\/console\/destinations$/, read: "viewer", write: "admin" },
  { path: /^\/console\/destinations\//, read: "admin", write: "admin" },
  // Shows the secret that signs callbacks.
  { path: /^\/console\/webhooks(\/|$)/, read: "admin", write: "admin" },
  { path: /^\/console\/members$/, read: "viewer", write: "admin" },
  { path: /^\/console\/members\//, read: "admin", write: "admin" },
  { path: /^\/console\/audit-log(\/|$)/, read: "admin", write: "owner" },
  // A receipt names who paid, and with which card.
  { path: /^\/console\/billing\/(receipts\/|card$)/, read: "admin", write: "admin" },
  { path: /^\/console\/billing(\/|$)/, read: "viewer", write: "admin" },
  // Of the deployment: the account must be an admin's too.
  { path: /^\/console\/admin(\/|$)/, read: "admin", write: "admin" },
];

/** True if a member with this role may send this request. */
export function mayOpen(role: Role, method: string, path: string): boolean {
  const place = path.replace(/\/+$/, "");
  const rule = rules.find((one) => one.path.test(place));
  const isRead = method === "GET" || method === "HEAD";
  return isAtLeast(role, rule ? (isRead ? rule.read : rule.write) : "owner");
}
