/** On the account page: the user's name and e-mail address, and changing them. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { askAuth } from "../ask-auth.ts";
import { freshSeconds } from "../auth/logins.ts";
import { readForm, signedIn } from "../frame.tsx";
import { buildPost } from "../mail.ts";
import { followPerson } from "../members.ts";
import { TextField } from "../parts/field.tsx";

const maxNameLength = 200;

const canWrite = (c: ConsoleContext) => buildPost(c.env, new URL(c.req.url).origin) !== undefined;

/** The forms for name and address. A new address is confirmed by a link sent to it, so that form needs e-mail. */
export function profileSection(c: ConsoleContext) {
  const { t, user } = c.var;
  return (
    <section class="duo">
      <form method="post" action="/console/account/name" class="stack narrow">
        <TextField name="name" label={t("name")} value={user.name} autocomplete="name" maxlength={maxNameLength} required />
        <p>
          <button class="btn">{t("change_name")}</button>
        </p>
      </form>
      <form method="post" action="/console/account/email" class="stack narrow">
        <TextField
          name="email"
          type="email"
          label={t("email")}
          value={user.email}
          autocomplete="email"
          maxlength={254}
          readonly={!canWrite(c)}
          hint={t(canWrite(c) ? "change_email_hint" : "change_email_by_operator")}
          required
        />
        {canWrite(c) && (
          <p>
            <button class="btn">{t("change_email")}</button>
          </p>
        )}
      </form>
    </section>
  );
}

const to = (c: ConsoleContext, outcome: string) => c.redirect(`/console/account?${outcome}`, 303);

export const profile = new Hono<ConsoleEnvironment>()
  .post("/account/name", signedIn, async (c) => {
    const name = (await readForm(c))("name");
    if (name === "" || name.length > maxNameLength) return to(c, "problem=name");
    const answer = await askAuth(c, "/update-user", { name });
    if (!answer.ok) return to(c, answer.status === 429 ? "problem=attempts" : "problem=name");
    await followPerson(c.env.DB, c.get("user").id);
    return to(c, "done=name");
  })
  .post("/account/email", signedIn, async (c) => {
    if (!canWrite(c)) return to(c, "problem=email_by_operator");
    // Needs a recent session, so that an unattended signed-in browser cannot be used to take over the account.
    if (Date.now() - c.get("session").createdAt.getTime() >= freshSeconds * 1000) return to(c, "problem=not_fresh");
    const email = (await readForm(c))("email");
    if (email.toLowerCase() === c.get("user").email.toLowerCase()) return to(c, "problem=email_same");
    const answer = email.length <= 254 && (await askAuth(c, "/change-email", { newEmail: email }));
    if (!answer || !answer.ok) return to(c, answer && answer.status === 429 ? "problem=attempts" : "problem=email");
    return to(c, "done=email_sent");
  });
