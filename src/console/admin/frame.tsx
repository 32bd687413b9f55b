/** What the operator's pages share: admins alone see them, a navigation of their own, a line in the log for each deed. */

import type { MiddlewareHandler } from "hono";
import type { Child } from "hono/jsx";
import { type Account, accountById } from "../../db/accounts.ts";
import { log } from "../../log.ts";
import { type ConsoleContext, type ConsoleEnvironment, page, nothingHere } from "../frame.tsx";
import type { Say } from "../messages.ts";

/** To everybody else there is nothing here. Comes behind `signedIn`, which reads the account anew for each request. */
export const adminOnly: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => (c.get("account").admin === 1 ? next() : notFound(c));

export const notFound = (c: ConsoleContext) => nothingHere(c);

const parts = [
  ["/console/admin", "overview"],
  ["/console/admin/accounts", "admin_accounts"],
  ["/console/admin/providers", "admin_providers"],
  ["/console/admin/tasks", "admin_open_tasks"],
] as const;

/** A part's pages are below it; everything is below the first. */
const isIn = (path: string, part: string) => path === part || (part !== "/console/admin" && path.startsWith(`${part}/`));

/** A page of the operator's, with the way to the others. */
export function adminPage(c: ConsoleContext, title: string, children: Child, status: 200 | 400 | 403 | 404 | 500 = 200) {
  const { say } = c.var;
  return page(
    c,
    title,
    <>
      <nav aria-label={say("admin")} class="tabs under">
        {parts.map(([path, name]) => (
          <a href={path} aria-current={isIn(c.req.path, path) ? "page" : undefined}>
            {say(name)}
          </a>
        ))}
      </nav>
      {children}
    </>,
    status,
  );
}

interface QuestionProps {
  say: Say;
  text: string;
  yes: string;
  back: string;
  problem?: Child;
  /** The answer takes something away. */
  destroys?: boolean;
}

/** A question that names what it is about, and its two answers. */
export const Question = ({ say, text, yes, back, problem, destroys = false }: QuestionProps) => (
  <form method="post" class="stack narrow">
    {problem}
    <p>{text}</p>
    <p class="row">
      <a href={back} role="button" class="btn">
        {say("admin_back")}
      </a>
      <button class={destroys ? "btn danger" : "btn primary"}>{yes}</button>
    </p>
  </form>
);

/** The account that the path names, or undefined. */
export const accountAsked = async (c: ConsoleContext): Promise<Account | undefined> =>
  (await accountById(c.env.DB, c.req.param("id") ?? "")) ?? undefined;

/** How an account is called where there is one line for it. */
export const nameOf = ({ name, email }: Account) => (name ? `${name} (${email})` : email);

/** Who did what to which account, in the log. */
export const note = (c: ConsoleContext, outcome: string, accountId: string, more: Record<string, string | number | boolean> = {}) =>
  log("admin", { by: c.get("account").id, account: accountId, outcome, ...more });

/** Asks the gateway's API as an account would; its requests count as the admin's own. */
export const askAs = (c: ConsoleContext, accountId: string, path: string, init: RequestInit = {}): Promise<Response> =>
  c.env.API.ask({ accountId, keyId: c.get("caller").keyId }, new Request(new URL(path, c.req.url), init));
