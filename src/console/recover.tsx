/** Forgotten passwords, and verifying an e-mail address: by a link in an e-mail. */

import type { ConsoleContext, ConsoleEnvironment } from "./context.ts";
import { Hono } from "hono";
import { askAuth, follow, passCookies } from "./ask-auth.ts";
import { page, person } from "./frame.tsx";
import { endResetLinks, findResetUser, followPerson } from "./members.ts";
import { minPasswordLength } from "./auth/logins.ts";
import { readForm } from "./forms.ts";
import { postOf } from "./mail.ts";
import { Button, NewPassword, Problem, TextField } from "./parts/index.ts";
import { countVisit } from "./request-limits.ts";
import { pageOfConsole, wantedPage, withReturn } from "./return-to.ts";
import { recordLogins } from "./sign-in-changes.ts";
import type { PageStatus } from "./page-status.ts";

/** The same answer for known and unknown addresses. */
const said = (c: ConsoleContext, sentence: "reset_sent" | "reset_by_operator" | "too_many_attempts", status: PageStatus = 200) =>
  page(c, c.var.t("forgot_password"), <p role="status">{c.var.t(sentence)}</p>, status);

function forgotPage(c: ConsoleContext) {
  const { t } = c.var;
  if (!postOf(c)) return said(c, "reset_by_operator");
  return page(
    c,
    t("forgot_password"),
    <form method="post" class="stack">
      <TextField name="email" type="email" label={t("email")} autocomplete="username" maxlength={254} required />
      <Button class="btn primary full" text={t("send_link")} />
    </form>,
    200,
    { lead: t("forgot_hint") },
  );
}

function resetPage(c: ConsoleContext, token: string, problem?: string, status: PageStatus = 200) {
  const { t } = c.var;
  return page(
    c,
    t("new_password"),
    <form method="post" action="/console/reset" class="stack">
      <Problem text={problem} />
      <input type="hidden" name="token" value={token} />
      <NewPassword label={t("new_password")} />
      <Button class="btn primary full" text={t("change_password")} />
    </form>,
    status,
  );
}

/**
 * Asks the user to press a button, because mail scanners open links. Verification needs both the e-mail and a signed-in session, or the
 * password (`/console/sign-in`): who reads the address must not confirm it for a stranger who signed up with it.
 */
function confirmPage(
  c: ConsoleContext,
  token: string | undefined,
  problem?: string,
  status: PageStatus = 200,
): Response | Promise<Response> {
  const { t } = c.var;
  const { email, emailVerified } = c.var.user;
  const newEmail = token === undefined ? undefined : claimsIn(token).updateTo;
  if (emailVerified && newEmail === undefined) return c.redirect(pageOfConsole(c, c.req.query("to")) ?? "/console", 303);
  return page(
    c,
    t("confirm_address"),
    <div class="stack">
      <Problem text={problem} />
      <p>{newEmail ? t("confirm_change", { email, newEmail }) : t(token ? "confirm_hint" : "confirm_wanted", { email })}</p>
      <form method="post" action={token ? "/console/confirm" : "/console/confirm/send"}>
        {token && <input type="hidden" name="token" value={token} />}
        <Button class="btn primary full" text={t(token ? "confirm_address" : "send_link")} />
      </form>
    </div>,
    status,
  );
}

/** Opens a link. That of another user, who signed up in this browser or opened it here, leads to the page to sign in, as without a session. */
function openLink(c: ConsoleContext) {
  const token = c.req.query("token");
  const { email, updateTo } = claimsIn(token ?? "");
  const isOthers = email !== undefined && ![email, updateTo].includes(c.var.user.email.toLowerCase());
  return isOthers ? c.redirect(withReturn("/console/sign-in", wantedPage(c)), 303) : confirmPage(c, token);
}

/** The claims of a confirmation link: an address, and its replacement if there is one. They are not trusted here: better-auth checks the signature. */
export function claimsIn(token: string): { email?: string; updateTo?: string } {
  try {
    const part = token.split(".")[1] ?? "";
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" }))) as Record<string, unknown>;
    const text = (name: string) => (typeof claims[name] === "string" ? { [name]: claims[name] } : {});
    return { ...text("email"), ...text("updateTo") };
  } catch {
    return {};
  }
}

/** Verifies an address, or a change of it. A second confirmation, after a crash in between, only completes the first. */
async function confirm(c: ConsoleContext): Promise<Response> {
  const token = (await readForm(c))("token");
  const { email, updateTo } = claimsIn(token);
  const own = c.var.user.email.toLowerCase();
  const isChanged = updateTo !== undefined && updateTo === own;
  if (!isChanged) {
    const answer = email === own && (await askAuth(c, `/verify-email?token=${encodeURIComponent(token)}`));
    if (!answer || !answer.ok) return confirmPage(c, updateTo === undefined ? undefined : token, c.var.t("confirm_failed"), 400);
    passCookies(c, answer);
  }
  if (updateTo === undefined) return c.redirect("/console", 303);
  await endResetLinks(c.env.DB, c.var.user.id);
  await followPerson(c.env.DB, c.var.user.id);
  return c.redirect("/console/account?done=email", 303);
}

export const recover = new Hono<ConsoleEnvironment>()
  .get("/forgot", forgotPage)
  .post("/forgot", async (c) => {
    if (!postOf(c)) return said(c, "reset_by_operator");
    const answer = await askAuth(c, "/request-password-reset", { email: (await readForm(c))("email") });
    return answer.status === 429 ? said(c, "too_many_attempts", 429) : said(c, "reset_sent");
  })
  .get("/reset", (c) => resetPage(c, c.req.query("token") ?? ""))
  .post("/reset", async (c) => {
    const { t } = c.var;
    const field = await readForm(c);
    await countVisit(c);
    const userId = await findResetUser(c.env.DB, field("token"));
    const answer = await askAuth(c, "/reset-password", { token: field("token"), newPassword: field("password") });
    if (answer.ok) {
      if (userId !== undefined) await recordLogins(c, userId);
      return follow(c, answer, "/console/sign-in?done=reset");
    }
    if (answer.status === 429) return resetPage(c, field("token"), t("too_many_attempts"), 429);
    return resetPage(c, field("token"), t("reset_failed", { minimum: minPasswordLength }), 400);
  })
  .get("/confirm", person, openLink)
  .post("/confirm", person, confirm)
  .post("/confirm/send", person, async (c) => {
    const { t } = c.var;
    if (!postOf(c)) return said(c, "reset_by_operator");
    const answer = await askAuth(c, "/send-verification-email", { email: c.var.user.email });
    if (answer.status === 429) return confirmPage(c, undefined, t("too_many_attempts"), 429);
    return page(c, t("confirm_address"), <p role="status">{t("confirm_sent", { email: c.var.user.email })}</p>);
  });
