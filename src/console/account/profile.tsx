/** On the account page: the user's name and e-mail address, and changing them. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { askAuth } from "../ask-auth.ts";
import { readForm } from "../forms.ts";
import { signedIn } from "../frame.tsx";
import { postOf } from "../mail.ts";
import { followPerson } from "../members.ts";
import { Button, TextField } from "../parts/index.ts";
import { back, isFresh } from "./back.ts";

const maxNameLength = 200;

/** The forms for name and address. A new address is confirmed by a link sent to it, so that form needs e-mail. */
export function profileSection(c: ConsoleContext) {
  const { t, user } = c.var;
  const sendsMail = postOf(c) !== undefined;
  return (
    <section class="duo">
      <form method="post" action="/console/account/name" class="stack narrow">
        <TextField name="name" label={t("name")} value={user.name} autocomplete="name" maxlength={maxNameLength} required />
        <p>
          <Button class="btn" text={t("change_name")} />
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
          readonly={!sendsMail}
          hint={t(sendsMail ? "change_email_hint" : "change_email_by_operator")}
          required
        />
        {sendsMail && (
          <p>
            <Button class="btn" text={t("change_email")} />
          </p>
        )}
      </form>
    </section>
  );
}

export const profile = new Hono<ConsoleEnvironment>()
  .post("/account/name", signedIn, async (c) => {
    const name = (await readForm(c))("name");
    if (name === "" || name.length > maxNameLength) return back(c, "problem=name");
    const answer = await askAuth(c, "/update-user", { name });
    if (!answer.ok) return back(c, answer.status === 429 ? "problem=attempts" : "problem=name");
    await followPerson(c.env.DB, c.var.user.id);
    return back(c, "done=name");
  })
  .post("/account/email", signedIn, async (c) => {
    if (!postOf(c)) return back(c, "problem=email_by_operator");
    if (!isFresh(c)) return back(c, "problem=not_fresh");
    const email = (await readForm(c))("email");
    if (email.toLowerCase() === c.var.user.email.toLowerCase()) return back(c, "problem=email_same");
    const answer = email.length <= 254 && (await askAuth(c, "/change-email", { newEmail: email }));
    if (!answer || !answer.ok) return back(c, answer && answer.status === 429 ? "problem=attempts" : "problem=email");
    return back(c, "done=email_sent");
  });
