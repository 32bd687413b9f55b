/** Accepting an invitation to be a member, and switching between accounts. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { readForm } from "../forms.ts";
import { Hono, type MiddlewareHandler } from "hono";
import { acceptInvitation, findMember, invitedTo } from "../members.ts";
import { reachesPeople } from "../mail.ts";
import { accountCookie, actor, cookies, keepChoice, nothingHere, page, person } from "../frame.tsx";
import { Button } from "../parts/button.tsx";

/** The choice gives no access: each request checks that the user is a member. */
const choose = (c: ConsoleContext, accountId: string) => keepChoice(c, accountCookie, accountId);

/** For an invitation that is unknown, used, expired, withdrawn, or for another address. */
function unusable(c: ConsoleContext) {
  const { t } = c.var;
  return page(
    c,
    t("invitation"),
    <a class="btn full" href="/console">
      {t("overview")}
    </a>,
    403,
    { lead: t("join_unusable") },
  );
}

/** Asks first for the link in an e-mail, where it can be sent: who joins is shown to the members under this address. */
const confirmed: MiddlewareHandler<ConsoleEnvironment> = async (c, next) =>
  reachesPeople(c.env) && !c.var.user.emailVerified ? c.redirect("/console/confirm", 303) : next();

async function ask(c: ConsoleContext) {
  const { t } = c.var;
  const token = c.req.query("invitation") ?? "";
  const found = await invitedTo(c.env.DB, token);
  const email = c.var.user.email.toLowerCase();
  if (!found?.member || (found.email !== undefined && found.email !== email)) return unusable(c);
  const { accountName, role } = found.member;
  return page(
    c,
    t("join_ask", { account: accountName ?? t("join_unnamed") }),
    <form method="post" action="/console/join" class="stack">
      <input type="hidden" name="invitation" value={token} />
      <p>{t(`role_${role}_may`)}</p>
      <Button class="btn primary full" text={t("join")} />
    </form>,
    200,
    { lead: t("join_as", { role: t(`role_${role}`), email }) },
  );
}

async function accept(c: ConsoleContext) {
  const token = (await readForm(c))("invitation");
  const accountId = await acceptInvitation(c.env, actor(c), c.var.user, token);
  if (accountId === undefined) return unusable(c);
  choose(c, accountId);
  return c.redirect("/console/members?done=joined", 303);
}

export const joining = new Hono<ConsoleEnvironment>()
  .get("/join", async (c, next) => {
    const token = c.req.query("invitation");
    // Someone without a session probably has no user yet; the page to sign up leads to the one to sign in.
    if (token && !cookies(c).includes("session_token=")) return c.redirect(`/console/sign-up?invitation=${encodeURIComponent(token)}`, 303);
    return next();
  })
  .get("/join", person, confirmed, ask)
  .post("/join", person, confirmed, accept)
  // Not for the account that is open, which may be closed to the user.
  .post("/switch", person, async (c) => {
    const id = (await readForm(c))("account");
    const found = await findMember(c.env.DB, c.var.user.id, id);
    if (found?.account.id !== id || found.isDisabled || found.account.disabled) return nothingHere(c);
    choose(c, id);
    return c.redirect("/console", 303);
  });
