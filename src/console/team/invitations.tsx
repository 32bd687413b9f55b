/** Inviting members: by mail to one address, or by a link for several people; withdrawing. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { readForm } from "../forms.ts";
import { Hono } from "hono";
import type { Role } from "../../base/roles.ts";
import { dayMs } from "../../base/times.ts";
import { countAttempt } from "../../db/attempts.ts";
import { inviteMember, listInvitations, withdrawInvitation } from "../../db/member-invitations.ts";
import { mayManage } from "../../db/memberships.ts";
import { actor, nothingHere, notYourRole, page } from "../frame.tsx";
import { DateTime, Link, ShownOnce } from "../parts/index.ts";
import { mailsToOne, postOf } from "../mail.ts";
import { joinLink, mailInvitation } from "./frame.tsx";
import { linkRoles, mailRoles, maxDays, maxPeople } from "./invite-forms.tsx";
import { invitationsPage } from "./open-invitations.tsx";

/** How long an invitation by mail can be used. */
const mailDays = 7;
/** So many an account may send within an hour: their addresses are strangers' to the operator, who is taken for the sender. */
const mailsOfAccount = { window: 3600, max: 100 };

/** The link of a new invitation. No other page shows it. */
function shownOnce(c: ConsoleContext, link: string, expiresAt: number, mailedTo?: string) {
  const { t } = c.var;
  return page(
    c,
    t("invitation"),
    <>
      <ShownOnce id="invitation" secret={link}>
        {mailedTo === undefined ? t("link_shown") : t("invitation_mailed", { email: mailedTo })} {t("expires")}: <DateTime ms={expiresAt} />
      </ShownOnce>
      <p class="gap0">
        <Link href="/console/members/invitations" class="btn primary" text={t("done")} />
      </p>
    </>,
    200,
    { width: "slim" },
  );
}

const readWhole = (text: string, max: number): number | undefined =>
  /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= max ? Number(text) : undefined;

async function byMail(c: ConsoleContext) {
  const { t } = c.var;
  const field = await readForm(c);
  const email = field("email").toLowerCase();
  const role = mailRoles(c.var.membership.role).find((one) => one === field("role"));
  const refuse = (name: string, text: string) =>
    invitationsPage(c, { form: "mail", problems: [{ field: name, label: t(name === "role" ? "role" : "email"), text }], typed: field });
  if (email.length > 254 || !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) return refuse("email", t("bad_email"));
  if (!role) return refuse("role", t("bad_role"));
  return send(c, email, role, () => refuse("email", t("not_invited")));
}

/** Counts an invitation by mail; false if the account or all together have sent too many. */
const mayMail = async (c: ConsoleContext, email: string): Promise<boolean> =>
  (await countAttempt(c.env.DB, `invitations of ${c.var.account.id}`, mailsOfAccount)) &&
  countAttempt(c.env.DB, `invitation ${email}`, mailsToOne);

/** Invites an address, in place of an earlier invitation of it, whose link ends; or refuses, if the user may not. */
async function send(c: ConsoleContext, email: string, role: Role, refuse: () => Response | Promise<Response>) {
  const isCounted = postOf(c) !== undefined;
  if (isCounted && !(await mayMail(c, email))) {
    const problem = { field: "email", label: c.var.t("email"), text: c.var.t("too_many_in_an_hour") };
    return invitationsPage(c, { form: "mail", problems: [problem], typed: (name) => (name === "email" ? email : "") }, 429);
  }
  const expiresAt = Date.now() + mailDays * dayMs;
  const given = { role, email, name: null, maxUses: 1, expiresAt };
  const token = await inviteMember(c.env.DB, c.env.API, actor(c), c.var.account.id, given);
  if (token === undefined) return refuse();
  const link = joinLink(c, token);
  const isMailed = await mailInvitation(c, email, role, link);
  return shownOnce(c, link, expiresAt, isMailed ? email : undefined);
}

async function byLink(c: ConsoleContext) {
  const { t } = c.var;
  const field = await readForm(c);
  const role = linkRoles.find((one) => one === field("role"));
  const [name, people, days] = [field("link"), readWhole(field("people"), maxPeople), readWhole(field("days"), maxDays)];
  const refuse = (problem: string, label: string, text: string) =>
    invitationsPage(c, { form: "link", problems: [{ field: problem, label, text }], typed: field });
  if (name === "" || name.length > 100) return refuse("link", t("link_name"), t("bad_link_name"));
  if (!role) return refuse("role", t("role"), t("bad_role"));
  if (people === undefined) return refuse("people", t("link_people"), t("bad_number", { max: maxPeople }));
  if (days === undefined) return refuse("days", t("link_days"), t("bad_number", { max: maxDays }));
  const expiresAt = Date.now() + days * dayMs;
  const given = { role, email: null, name, maxUses: people, expiresAt };
  const token = await inviteMember(c.env.DB, c.env.API, actor(c), c.var.account.id, given);
  return token === undefined ? refuse("link", t("link_name"), t("not_invited")) : shownOnce(c, joinLink(c, token), expiresAt);
}

const findOpen = async (c: ConsoleContext, id: string) =>
  (await listInvitations(c.env.DB, c.var.account.id, Date.now())).find((one) => one.id === id);

/** Mounted after the page's router, which admits only those who may invite. */
export const invitations = new Hono<ConsoleEnvironment>()
  .get("/invitations", (c) => invitationsPage(c))
  .post("/invite", byMail)
  .post("/link", byLink)
  .post("/invitations/:id/again", async (c) => {
    const { email, role } = (await findOpen(c, c.req.param("id"))) ?? {};
    return email && role ? send(c, email, role, () => notYourRole(c)) : nothingHere(c);
  })
  .post("/invitations/:id/withdraw", async (c) => {
    const id = c.req.param("id");
    const { role } = (await findOpen(c, id)) ?? {};
    if (role && !mayManage(c.var.membership.role, role)) return notYourRole(c);
    return (await withdrawInvitation(c.env.DB, c.env.API, actor(c), c.var.account.id, id))
      ? c.redirect("/console/members/invitations?done=withdrawn", 303)
      : nothingHere(c);
  });
