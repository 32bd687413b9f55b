/** The open invitations of an account, and the page on which they are made. */

import type { ConsoleContext } from "../context.ts";
import { postOf } from "../mail.ts";
import { listInvitations, type MemberInvitation } from "../../db/member-invitations.ts";
import { mayManage } from "../../db/memberships.ts";
import { Button, DateTime, FieldProblems, Icon, useAround } from "../parts/index.ts";
import { teamPage } from "./frame.tsx";
import { InviteForms, mailRoles, type RefusedForm } from "./invite-forms.tsx";
import type { PageStatus } from "../page-status.ts";

interface InvitationsProps {
  c: ConsoleContext;
  open: MemberInvitation[];
  isManager: boolean;
}

/** The open invitations, with what their account's owners and admins may do with them. */
export const Invitations = ({ c, open, isManager }: InvitationsProps) => {
  const { t } = useAround();
  // The link of an invitation is stored only as a hash: it is sent again as a new one, and the old one ends.
  const again = t(postOf(c) ? "send_again" : "new_link");
  const sendable = mailRoles(c.var.membership.role);
  if (open.length === 0) return <p class="muted">{t("no_invitations")}</p>;
  return (
    <ul class="card flush todo invites">
      {open.map(({ id, email, name, role, uses, maxUses, createdAt, expiresAt }) => (
        <li>
          <Icon name={email === null ? "link" : "clock"} />
          <div>
            <b>{email ?? name}</b>
            <p>
              {t(`role_${role}`)} · {email === null ? t("invitation_used", { uses, max: maxUses }) : t("invitation_sent")}{" "}
              {email !== null && <DateTime ms={createdAt} />} · {t("expires")} <DateTime ms={expiresAt} />
            </p>
          </div>
          {isManager && (
            <span class="row">
              {email !== null && sendable.includes(role) && (
                <form method="post" action={`/console/members/invitations/${id}/again`}>
                  <Button class="btn sm" aria-label={`${again}: ${email}`} text={again} />
                </form>
              )}
              {mayManage(c.var.membership.role, role) && (
                <form method="post" action={`/console/members/invitations/${id}/withdraw`}>
                  <Button class="btn ghost sm danger" aria-label={`${t("withdraw")}: ${email ?? name ?? ""}`} text={t("withdraw")} />
                </form>
              )}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
};

export const invitationsPage = async (c: ConsoleContext, refused?: RefusedForm, status: PageStatus = refused ? 400 : 200) =>
  teamPage(
    c,
    "invitations",
    <>
      <FieldProblems problems={refused?.problems ?? []} />
      <Invitations c={c} open={await listInvitations(c.env.DB, c.var.account.id, Date.now())} isManager />
      <InviteForms c={c} refused={refused} />
    </>,
    status,
    { lead: c.var.t("invitations_lead") },
  );
