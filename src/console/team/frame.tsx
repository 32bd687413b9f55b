/** Shared by the pages of the team: their tabs, the expiry and the link of invitations, and the mail with it. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { type Role, roles } from "../../base/roles.ts";
import { mayManage } from "../../db/memberships.ts";
import { mayOpen } from "../access.ts";
import { messageFor, page } from "../frame.tsx";
import { postOf } from "../mail.ts";
import type { Arrangement } from "../shell/layout.tsx";
import type { PageStatus } from "../page-status.ts";
import { NavLinks } from "../parts/nav-links.tsx";

const tabs = {
  members: "/console/members",
  invitations: "/console/members/invitations",
  member_sign_in: "/console/members/sign-in",
  audit_log: "/console/audit-log",
} as const;

/** The messages after an action. */
const outcomes = {
  changed: "member_changed",
  removed: "member_removed_done",
  invited: "member_invited_done",
  withdrawn: "invitation_withdrawn_done",
  joined: "member_joined_done",
  renamed: "account_renamed_done",
} as const;

/** The account's name for people. */
export const accountTitle = (c: ConsoleContext): string => c.var.account.name || c.var.account.email;

/** The roles that the user may give to a member with this role; none if the user may not change the member. */
export const offeredRoles = (c: ConsoleContext, role: Role): Role[] =>
  roles.filter((wanted) => mayManage(c.var.membership.role, role, wanted));

/** A page of the team, under the account's name, with the toast of the action that led to it. */
export function teamPage(
  c: ConsoleContext,
  at: keyof typeof tabs,
  children: Child,
  status: PageStatus = 200,
  arrangement: Omit<Arrangement, "toast"> = {},
) {
  const { t } = c.var;
  const { role } = c.var.membership;
  return page(
    c,
    accountTitle(c),
    <>
      <NavLinks
        label={t("account")}
        of={(Object.keys(tabs) as (keyof typeof tabs)[])
          .filter((name) => mayOpen(role, "GET", tabs[name]))
          .map((name) => ({ path: tabs[name], text: t(name), isHere: name === at }))}
      />
      {children}
    </>,
    status,
    { ...arrangement, toast: messageFor(c, outcomes, c.req.query("done")) },
  );
}

/** The link with the token of an invitation. */
export const joinLink = (c: ConsoleContext, token: string) =>
  `${new URL(c.req.url).origin}/console/join?invitation=${encodeURIComponent(token)}`;

/** Mails an invitation to its address, in the language of the page. False if no e-mail can be sent. */
export async function mailInvitation(c: ConsoleContext, email: string, role: Role, link: string): Promise<boolean> {
  const { t } = c.var;
  const { host } = new URL(c.req.url);
  const post = postOf(c);
  const values = { account: accountTitle(c), host, role: t(`role_${role}`), by: c.var.user.email };
  await post?.({
    to: email,
    language: c.var.language,
    subject: t("mail_join_subject", values),
    // The names of the account and of its people are chosen by them: they stand within a sentence of ours.
    text: `${t("mail_join", values)}\n\n${link}\n\n${t("mail_join_end", values)}`,
    action: t("mail_join_action"),
  });
  return post !== undefined;
}
