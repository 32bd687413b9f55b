/** On the account page: changing the password, or setting the first one. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { askAuth, follow } from "../ask-auth.ts";
import { maxPasswordLength, minPasswordLength } from "../auth/logins.ts";
import { readForm } from "../forms.ts";
import { authSettings, cookies, signedIn } from "../frame.tsx";
import { Button, SectionHead, TextField } from "../parts/index.ts";
import { recordLogins } from "../sign-in-changes.ts";
import { back, isFresh } from "./back.ts";

const hasPassword = async (c: ConsoleContext): Promise<boolean> =>
  (await c.env.AUTH.listLogins(authSettings(c), c.var.user.id)).some((login) => login.hasPassword);

/** The form; it asks for the old password if there is one. */
export async function passwordSection(c: ConsoleContext) {
  const { t } = c.var;
  const known = await hasPassword(c);
  return (
    <section>
      <SectionHead title={t(known ? "change_password" : "set_password")} />
      <form method="post" action="/console/account/password" class="stack narrow">
        {/* Tells password managers which user the password belongs to. */}
        <input type="text" name="username" value={c.var.user.email} autocomplete="username" readonly hidden />
        {known && (
          <TextField
            name="old"
            type="password"
            label={t("old_password")}
            autocomplete="current-password"
            maxlength={maxPasswordLength}
            required
          />
        )}
        <TextField
          name="new"
          type="password"
          label={t("new_password")}
          autocomplete="new-password"
          minlength={minPasswordLength}
          maxlength={maxPasswordLength}
          hint={t("password_hint", { minimum: minPasswordLength })}
          required
        />
        <p>
          <Button class="btn" text={t(known ? "change_password" : "set_password")} />
        </p>
      </form>
    </section>
  );
}

/** Sets a first password for a user with other logins: only with a recent session, because there is no old password to ask for. */
async function setFirst(c: ConsoleContext, newPassword: string): Promise<Response> {
  if (!isFresh(c)) return back(c, "problem=not_fresh");
  if (newPassword.length < minPasswordLength || newPassword.length > maxPasswordLength) return back(c, "problem=bad_password");
  await c.env.AUTH.setPassword(authSettings(c), cookies(c), newPassword);
  await recordLogins(c, c.var.user.id);
  return back(c, "done=password");
}

export const password = new Hono<ConsoleEnvironment>().post("/account/password", signedIn, async (c) => {
  const field = await readForm(c);
  if (!(await hasPassword(c))) return setFirst(c, field("new"));
  const answer = await askAuth(c, "/change-password", {
    currentPassword: field("old"),
    newPassword: field("new"),
    revokeOtherSessions: true,
  });
  if (answer.ok) {
    await recordLogins(c, c.var.user.id);
    return follow(c, answer, "/console/account?done=password");
  }
  return back(c, answer.status === 429 ? "problem=attempts" : "problem=bad_password");
});
