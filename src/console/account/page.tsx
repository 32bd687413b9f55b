/** The account page: profile, ways to sign in, sessions, language. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { messageFor, page, signedIn } from "../frame.tsx";
import { languageNames } from "../messages.ts";
import { loginProblem, logins, loginsSection } from "./logins.tsx";
import { passkeys, passkeysSection } from "./passkeys.tsx";
import { password, passwordSection } from "./password.tsx";
import { profile, profileSection } from "./profile.tsx";
import { sessions, sessionsSection } from "./sessions.tsx";
import { budgetLeft } from "../keys/budget.tsx";
import { readBalance } from "../ledger.ts";
import { Button, DateTime, Facts, Problem, SectionHead } from "../parts/index.ts";
import { isSignOnOnly } from "../settings.ts";

/** The messages after an action. */
const outcomes = {
  name: "name_changed",
  email_sent: "change_email_sent",
  email: "email_changed",
  password: "password_changed",
  session_ended: "session_ended",
  unlinked: "login_unlinked",
  passkey_added: "passkey_added",
  passkey_deleted: "passkey_deleted",
} as const;
const refusals = {
  not_fresh: "not_fresh",
  last_login: "last_login",
  bad_password: "bad_password",
  attempts: "too_many_attempts",
  name: "bad_name",
  email: "bad_email",
  email_same: "email_same",
  email_by_operator: "change_email_by_operator",
} as const;

/** The account's own budget, set by the operator. Renders nothing for an account without a budget. */
async function budgetSection(c: ConsoleContext) {
  const { t } = c.var;
  const { budget } = await readBalance(c, c.var.account.id);
  if (!budget) return null;
  return (
    <section>
      <SectionHead title={t("budget")} />
      <p class="muted">{t("budget_of_account")}</p>
      <Facts
        of={[
          [t("budget"), budgetLeft(c, budget)],
          [t("budget_renews"), <DateTime ms={budget.until} />],
        ]}
      />
    </section>
  );
}

async function accountPage(c: ConsoleContext) {
  const { t, language } = c.var;
  return page(
    c,
    t("account"),
    <>
      <Problem text={messageFor(c, refusals, c.req.query("problem")) ?? loginProblem(c)} />
      {profileSection(c)}
      {await budgetSection(c)}
      {!isSignOnOnly(c.env) && (
        <>
          {await passkeysSection(c)}
          {await loginsSection(c)}
          {await passwordSection(c)}
        </>
      )}
      {await sessionsSection(c)}
      <section>
        <SectionHead title={t("language")} />
        <form action="/console/language" class="row">
          <select name="to" class="in auto" aria-label={t("language")}>
            {Object.entries(languageNames).map(([code, name]) => (
              <option value={code} lang={code} selected={code === language}>
                {name}
              </option>
            ))}
          </select>
          <Button class="btn" text={t("choose")} />
        </form>
      </section>
    </>,
    200,
    { width: "slim", toast: messageFor(c, outcomes, c.req.query("done")) },
  );
}

export const account = new Hono<ConsoleEnvironment>()
  .get("/account", signedIn, accountPage)
  .route("/", profile)
  .route("/", password)
  .route("/", sessions)
  .route("/", logins)
  .route("/", passkeys);
