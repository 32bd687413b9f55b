/** Linked logins (GitHub, Google) and single sign-on: their buttons, the redirects, and the logins of a user. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import * as z from "zod/mini";
import { readAnswer } from "../answers.ts";
import { Hono } from "hono";
import { askAuth, follow, passCookies } from "../ask-auth.ts";
import { type Login, loginNames, configuredLogins } from "../auth/logins.ts";
import { readForm } from "../forms.ts";
import { authSettings, messageFor, nothingHere, person, signedIn } from "../frame.tsx";
import { countVisit } from "../request-limits.ts";
import { pageOfConsole } from "../return-to.ts";
import { isSignOnOnly, singleSignOn } from "../settings.ts";
import { applyGroups } from "../team/groups.ts";
import { recordLogins } from "../sign-in-changes.ts";
import { Button, SectionHead } from "../parts/index.ts";
import { back } from "./back.ts";

/** Error codes of a failed sign-in for which we have messages; the provider's text is not shown. */
const problems = {
  signup_disabled: "sign_up_closed",
  account_not_linked: "login_not_linked",
  email_not_verified: "login_unverified",
  email_not_found: "login_unverified",
  email_does_not_match: "login_other_address",
  account_already_linked_to_different_user: "login_taken",
} as const;

/** The message for the problem in a page's query. */
export function loginProblem(c: ConsoleContext): string | undefined {
  const code = c.req.query("error");
  if (code === undefined) return undefined;
  return messageFor(c, problems, code) ?? c.var.t("login_failed");
}

/** The buttons of the logins that the operator has configured. */
export const LoginButtons = ({ c, to }: { c: ConsoleContext; to: string | undefined }) => {
  const { t } = c.var;
  const logins = configuredLogins(c.env);
  const buttons = [
    ...(singleSignOn(c.env) ? [["oidc", t("sign_in_sso")] as const] : []),
    ...logins.map((login) => [login, t("sign_in_with", { login: loginNames[login] })] as const),
  ];
  if (buttons.length === 0) return null;
  return (
    <>
      <div class={buttons.length === 1 ? "stack" : "cols two"}>
        {buttons.map(([login, text]) => (
          <form method="post" action={`/console/login/${login}`}>
            {to && <input type="hidden" name="to" value={to} />}
            <Button class="btn full" text={text} />
          </form>
        ))}
      </div>
      {!isSignOnOnly(c.env) && <p class="or">{t("or")}</p>}
    </>
  );
};

const isLogin = (c: ConsoleContext, name: string | undefined): name is Login => configuredLogins(c.env).includes(name as Login);
/** True for a login to which a browser may go from the page to sign in. */
const isWay = (c: ConsoleContext, name: string | undefined) => isLogin(c, name) || (name === "oidc" && singleSignOn(c.env) !== undefined);

/** Redirects to a login; the return path is fixed, never taken from the request. */
async function leave(c: ConsoleContext, endpoint: "/sign-in/social" | "/link-social", back: string): Promise<Response> {
  const to = pageOfConsole(c, (await readForm(c))("to")) ?? "/console";
  const login = c.req.param("login");
  if (endpoint === "/link-social" ? !isLogin(c, login) : !isWay(c, login)) return nothingHere(c);
  const answer = await askAuth(c, endpoint, {
    provider: login,
    callbackURL: endpoint === "/link-social" ? back : to,
    errorCallbackURL: back,
    disableRedirect: true,
  });
  if (!answer.ok) return c.redirect(`${back}?error=${answer.status}`, 303);
  return follow(c, answer, (await readAnswer(z.object({ url: z.url() }), answer.clone())).url);
}

/** The logins that a user has beside their password. */
async function linkedTo(c: ConsoleContext): Promise<Map<string, string>> {
  return new Map((await c.env.AUTH.listLogins(authSettings(c), c.var.user.id)).map(({ providerId, id }) => [providerId, id]));
}

/** On the account page: each login with its actions. */
export async function loginsSection(c: ConsoleContext) {
  const { t } = c.var;
  const linked = await linkedTo(c);
  const logins = (Object.keys(loginNames) as Login[]).filter((login) => isLogin(c, login) || linked.has(login));
  if (logins.length === 0) return null;
  return (
    <section>
      <SectionHead title={t("logins")} />
      <ul class="card flush rows">
        {logins.map((login) => (
          <li>
            <form method="post" action={`/console/account/logins/${login}/${linked.has(login) ? "unlink" : "link"}`} class="row between">
              <span>
                <b>{loginNames[login]}</b> <span class="meta">{t(linked.has(login) ? "linked" : "not_linked")}</span>
              </span>
              <Button
                class="btn sm"
                aria-label={`${t(linked.has(login) ? "unlink" : "link")}: ${loginNames[login]}`}
                text={t(linked.has(login) ? "unlink" : "link")}
              />
            </form>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Ends a single sign-on: the roles of the user's groups are set before the browser gets its session. */
async function finishSignOn(c: ConsoleContext): Promise<Response> {
  const { answer, signedIn: user } = await c.env.AUTH.handleSignOn(authSettings(c), c.req.raw);
  if (user) await applyGroups(c, user.userId, user.groups);
  return answer;
}

export const logins = new Hono<ConsoleEnvironment>()
  .post("/login/:login", (c) => leave(c, "/sign-in/social", "/console/sign-in"))
  // The only endpoint of better-auth that is exposed, because browsers return to it.
  .get("/auth/callback/:login", async (c) => {
    if (!isWay(c, c.req.param("login"))) return nothingHere(c);
    await countVisit(c);
    const { origin } = new URL(c.req.url);
    const answer = await (c.req.param("login") === "oidc" ? finishSignOn(c) : c.env.AUTH.handle(authSettings(c), c.req.raw));
    const to = new URL(answer.headers.get("location") ?? "/console/sign-in?error=failed", origin);
    passCookies(c, answer);
    const error = to.searchParams.get("error");
    if (error !== null) return c.redirect(`${to.pathname}?error=${encodeURIComponent(error)}`, 303);
    return c.redirect(pageOfConsole(c, to.pathname + to.search) ?? "/console", 303);
  })
  .post("/account/logins/:login/link", person, (c) => leave(c, "/link-social", "/console/account"))
  .post("/account/logins/:login/unlink", signedIn, async (c) => {
    const accountId = (await linkedTo(c)).get(c.req.param("login"));
    if (accountId === undefined || !Object.hasOwn(loginNames, c.req.param("login"))) return nothingHere(c);
    const answer = await askAuth(c, "/unlink-account", { accountId });
    if (answer.ok) await recordLogins(c, c.var.user.id);
    const outcome = answer.ok ? "done=unlinked" : answer.status === 403 ? "problem=not_fresh" : "problem=last_login";
    return back(c, outcome);
  });
