/** Middleware of every page: language, forms from our own pages only, the signed-in user. */

import type { ConsoleEnvironment, ConsoleContext } from "./context.ts";
import type { MiddlewareHandler } from "hono";
import type { Child } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { every } from "hono/combine";
import { getCookie, setCookie } from "hono/cookie";
import { liveCatalog } from "../current-catalog.ts";
import type { Account } from "../db/accounts.ts";
import type { Actor } from "../db/audit-log.ts";
import { isAtLeast, mayOpen } from "./access.ts";
import { type AuthSettings, authVariables, type SignedIn } from "./auth/contract.ts";
import { remaining } from "../db/ledger.ts";
import { readBalance } from "./ledger.ts";
import { postOf } from "./mail.ts";
import { type Member, toCaller, findMember, openAccount, type Person, setLanguage } from "./members.ts";
import { chooseLanguage, type Translate, translator } from "./messages.ts";
import { countUser } from "./request-limits.ts";
import { wantedPage, withReturn } from "./return-to.ts";
import { type Arrangement, Layout } from "./shell/layout.tsx";
import type { ShownMember } from "./shell/sidebar.tsx";
import { themeCookie, parseTheme } from "./shell/theme.ts";
import { balanceUnit } from "./settings.ts";
import type { PageStatus } from "./page-status.ts";
import { AroundContext, Button, Link } from "./parts/index.ts";

export const languageCookie = "gateway_language";
/** The account that pages show, for users of several. */
export const accountCookie = "gateway_account";

/** Chooses the language before everything else, because any later step may fail, and then an error page is shown. */
export const withLanguage: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  const language = chooseLanguage(getCookie(c, languageCookie), c.req.header("accept-language"));
  c.set("language", language);
  c.set("t", translator(language));
  return next();
};

export const frame: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  // Never cache pages with personal data.
  c.header("cache-control", "no-store");
  // Requires a request's origin to be ours, also for a script's JSON, which hono's `csrf` does not check; the cookies' SameSite is the
  // second protection.
  if (c.req.method === "POST" && c.req.header("origin") !== new URL(c.req.url).origin) return page(c, c.var.t("forbidden"), null, 403);
  return next();
};

/** For pages that list models: the operator may have changed them. */
export const withCatalog: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  c.set("catalog", await liveCatalog(c.env.DB));
  return next();
};

/** The settings of a call to the auth Worker. */
export function authSettings(c: ConsoleContext): AuthSettings {
  const set = authVariables.flatMap((name) => (c.env[name] === undefined ? [] : [[name, c.env[name]] as const]));
  const variables = Object.fromEntries(set) as Pick<ConsoleEnv, (typeof authVariables)[number]>;
  return { ...variables, origin: new URL(c.req.url).origin, language: c.var.language };
}

/** The request's cookies, as the auth Worker reads them. */
export const cookies = (c: ConsoleContext): string => c.req.header("cookie") ?? "";

const hasSessionCookie = (c: ConsoleContext) => cookies(c).includes("session_token=");

/** Stores a choice for a year in this browser. */
export const keepChoice = (c: ConsoleContext, cookie: string, value: string) =>
  setCookie(c, cookie, value, {
    path: "/",
    maxAge: 31_536_000,
    httpOnly: true,
    sameSite: "Lax",
    secure: new URL(c.req.url).protocol === "https:",
  });

/** The session of a request. Only a request with a session's cookie costs a call. Throws `TooMany`. */
async function findSession(c: ConsoleContext): Promise<SignedIn | null> {
  if (!hasSessionCookie(c)) return null;
  const found = await c.env.AUTH.findSession(authSettings(c), cookies(c));
  if (found) await countUser(c, found.user.id);
  // A session in use is prolonged once a day: without the new cookie the browser would end it a week after signing in.
  for (const cookie of found?.cookies ?? []) c.header("set-cookie", cookie, { append: true });
  return found;
}

/** Admits signed-in users, with or without an account; redirects others to the sign-in page. */
export const person: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  const found = await findSession(c);
  // A live part of a page is requested in the background: the sign-in page must not replace it.
  const ended = !found && hasSessionCookie(c);
  const signIn = withReturn(ended ? "/console/sign-in?ended=1" : "/console/sign-in", wantedPage(c));
  if (!found && isForm(c)) return refuse(c, 401, <SignedOut t={c.var.t} signIn={signIn} />);
  if (!found && isScripted(c)) return c.body(null, 401, { "hx-redirect": signIn });
  if (!found) return c.redirect(signIn, 303);
  c.set("user", found.user);
  c.set("session", found.session);
  return next();
};

/** The account that the user has chosen in this browser. Any other text than the id of one of the user's accounts counts as none. */
const chosenAccount = (c: ConsoleContext) => getCookie(c, accountCookie);

function setMember(c: ConsoleContext, member: Member): void {
  c.set("account", member.account);
  c.set("membership", member);
}

/**
 * True if a restored database lost changes of the account and the operator has not decided about them: the user may have been removed, or
 * may have lost the admin role.
 */
const isUndecided = (c: ConsoleContext, { account }: Member) => c.env.API.isRestored(account.id, account.keysRevision);

/** Reads the session on public pages, to show the navigation of a signed-in user. */
export async function recognize(c: ConsoleContext): Promise<void> {
  const found = await findSession(c);
  const member = found && (await findMember(c.env.DB, found.user.id, chosenAccount(c)));
  if (!member || member.account.disabled || member.isDisabled || (await isUndecided(c, member))) return;
  c.set("user", found.user);
  setMember(c, member);
}

interface NoAccountProps {
  t: Translate;
  reason: "account_disabled" | "account_restored" | "no_account";
  /** Other accounts of the user. */
  accounts: Member["accounts"];
}

/** For a signed-in user without an open account: these pages lack the menu, so switching accounts and signing out is offered here. */
const NoAccount = ({ t, reason, accounts }: NoAccountProps) => (
  <div class="stack">
    <p>{t(reason)}</p>
    {accounts.length > 0 && (
      <form method="post" action="/console/switch" class="stack">
        {accounts.map(({ id, name }) => (
          <Button class="btn" name="account" value={id} text={t("switch_to", { name })} />
        ))}
      </form>
    )}
    <form method="post" action="/console/sign-out">
      <Button class="btn" text={t("sign_out")} />
    </form>
  </div>
);

/** Why a user may not open the account; undefined if nothing speaks against it. */
async function findObstacle(c: ConsoleContext, found: Member | undefined): Promise<NoAccountProps["reason"] | undefined> {
  if (!found) return "no_account";
  if (found.account.disabled || found.isDisabled) return "account_disabled";
  return (await isUndecided(c, found)) ? "account_restored" : undefined;
}

/** Admits users with an account, and creates one for users who may have one. */
export const member: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  const user = c.var.user;
  const found = await openAccount(c.env, user, chosenAccount(c));
  if (!found && !user.emailVerified && postOf(c)) return c.redirect("/console/confirm", 303);
  const obstacle = await findObstacle(c, found);
  if (!found || obstacle) {
    const others = found?.accounts.filter(({ id }) => id !== found.account.id) ?? [];
    return page(c, c.var.t("overview"), <NoAccount t={c.var.t} reason={obstacle ?? "no_account"} accounts={others} />, 403);
  }
  setMember(c, found);
  // Read from the database for each request: a role that was taken away is gone at once.
  if (!mayOpen(found.role, c.req.method, c.req.path)) return notYourRole(c);
  if (found.language !== c.var.language) await setLanguage(c.env.DB, user.id, c.var.language);
  c.set("caller", await toCaller(c.env.DB, user.id, found));
  return next();
};

/** A page that says only why there is nothing to show, and where to go. */
export const deadEnd = (c: ConsoleContext, status: PageStatus, title: string, way: { to: string; text: string }, lead?: string) =>
  page(
    c,
    title,
    <p>
      <Link class="btn" href={way.to} text={way.text} />
    </p>,
    status,
    { width: "slim", lead },
  );

/** The 403 page for what the user's role does not allow. */
export function notYourRole(c: ConsoleContext) {
  const { t } = c.var;
  const why = t("role_forbidden_why", { role: t(`role_${c.var.membership.role}`) });
  return deadEnd(c, 403, t("role_forbidden"), { to: "/console/members", text: t("members") }, why);
}

/** Admits signed-in users with an account; redirects others to the sign-in page. */
export const signedIn = every(person, member) as MiddlewareHandler<ConsoleEnvironment>;

/** The signed-in user with the current balance; undefined without an account. */
async function shownMember(c: ConsoleContext): Promise<ShownMember | undefined> {
  const user = c.var.user as Person | undefined;
  const account = c.var.account as Account | undefined;
  const balance = account && (await readBalance(c, account.id));
  if (!user || !account || !balance) return undefined;
  return {
    email: user.email,
    // A viewer or member of an operator's account is no operator.
    isAdmin: account.admin === 1 && isAtLeast(c.var.membership.role, "admin"),
    role: c.var.membership.role,
    account: account.name || account.email,
    accounts: c.var.membership.accounts.filter(({ id }) => id !== account.id),
    remaining: remaining(balance),
    reserved: balance.reserved,
    unit: balanceUnit(c.env),
  };
}

/** The signed-in user, or one who has just signed in, for the audit log. */
export const actor = (c: ConsoleContext, { id }: { id: string } = c.var.user): Actor & { id: string } => ({
  kind: "user",
  id,
  address: c.req.header("cf-connecting-ip") ?? null,
});

/** The message for a code in a page's address. The codes are fixed, because any site can link to the page with a query. */
export function messageFor(c: ConsoleContext, messages: Record<string, Parameters<Translate>[0]>, code: string | undefined) {
  const message = code !== undefined && Object.hasOwn(messages, code) ? messages[code] : undefined;
  return message && c.var.t(message);
}

/** Renders a whole page; for a form of a page's script that is refused, a message. */
export async function page(c: ConsoleContext, title: string, children: Child, status: PageStatus = 200, arrangement: Arrangement = {}) {
  if (status !== 200 && isForm(c)) return refuse(c, status, title);
  // The cause of an error page may affect this query too: then the page is rendered without its result.
  const member = await shownMember(c).catch((error: unknown) => (status === 500 ? undefined : Promise.reject(error)));
  const html = (
    <Layout
      title={title}
      path={c.req.path}
      language={c.var.language}
      t={c.var.t}
      theme={parseTheme(getCookie(c, themeCookie))}
      member={member}
      isAnswer={c.req.method !== "GET"}
      {...arrangement}
    >
      {children}
    </Layout>
  );
  return c.html(`<!doctype html>${String(html)}`, status);
}

/** True for a request of a page's script, which shows the answer as a part of the page. */
export const isScripted = (c: ConsoleContext): boolean => c.req.header("hx-request") !== undefined;

const isForm = (c: ConsoleContext) => c.req.method === "POST" && isScripted(c);

/** A part of a page as HTML. */
export function partText(c: ConsoleContext, children: Child): string {
  const { language, t } = c.var;
  return String(<AroundContext.Provider value={{ language, t, unit: balanceUnit(c.env) }}>{children}</AroundContext.Provider>);
}

/** Answers a request of a page's script. */
export const part = (c: ConsoleContext, children: Child) => c.html(partText(c, children));

/** Answers a form of a page's script that is refused as a whole: the page stays with what was typed, and shows the message. */
const refuse = (c: ConsoleContext, status: ContentfulStatusCode, message: Child) =>
  c.html(
    partText(
      c,
      <div class="toast stays" id="refused" hx-swap-oob="true">
        <span role="alert">{message}</span>
      </div>,
    ),
    status,
  );

interface SignedOutProps {
  t: Translate;
  signIn: string;
}

/** For a form that is sent after the session has ended. */
export const SignedOut = ({ t, signIn }: SignedOutProps) => (
  <>
    {t("signed_out")}{" "}
    <a href={signIn} target="_blank">
      {t("sign_in")}
    </a>
  </>
);

/** The 404 page. */
export function nothingHere(c: ConsoleContext) {
  const { t } = c.var;
  return deadEnd(c, 404, t("not_found"), { to: "/console", text: t("overview") }, t("not_found_hint"));
}

/** For a request above the limits of a minute. A browser that reloads the page sends a form again as it was; a live part stays as it is. */
export function tooMany(c: ConsoleContext): Response | Promise<Response> {
  c.header("retry-after", "60");
  if (c.req.method === "GET" && isScripted(c)) return c.body(null, 429, { "hx-reswap": "none" });
  return page(c, c.var.t("too_many_requests"), null, 429, { width: "slim", lead: c.var.t("too_many_requests_hint") });
}

/** For a link to a file that has expired, was deleted, or was changed. The gateway sets the status. */
export async function fileGone(c: ConsoleContext) {
  await recognize(c);
  const { t } = c.var;
  return deadEnd(c, 410, t("file_gone"), { to: "/console/tasks", text: t("tasks") }, t("file_gone_hint"));
}
