/** The routes of the pages of members. */

import type { ConsoleEnvironment } from "../context.ts";
import { readForm } from "../forms.ts";
import { Hono } from "hono";
import { renameAccount } from "../../db/memberships.ts";
import { actor, signedIn } from "../frame.tsx";
import { invitations } from "./invitations.tsx";
import { membersPage } from "./list.tsx";
import { member } from "./member.tsx";
import { signInPage } from "./sign-in.tsx";

export const members = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => membersPage(c))
  .post("/name", async (c) => {
    const { t } = c.var;
    const field = await readForm(c);
    const name = field("account-name");
    if (c.var.membership.role !== "owner" || name === "" || name.length > 200)
      return membersPage(c, { form: "name", problems: [{ field: "account-name", label: t("name"), text: t("bad_name") }], typed: field });
    await renameAccount(c.env.DB, actor(c), c.var.account.id, c.var.account.name, name);
    return c.redirect("/console/members?done=renamed", 303);
  })
  .get("/sign-in", signInPage)
  .route("/", invitations)
  .route("/", member);
