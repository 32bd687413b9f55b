/** The page of members: who is in the account with role and budget, open invitations, and what a role may do. */

import type { ConsoleContext } from "../context.ts";
import { type ListedMember, listMembers, mayManage } from "../../db/memberships.ts";
import { listInvitations } from "../../db/member-invitations.ts";
import { type Role, roles } from "../../base/roles.ts";
import type { WalletView } from "../../wallet/limits.ts";
import { isAtLeast } from "../access.ts";
import { loginNames } from "../auth/logins.ts";
import { budgetLeft } from "../keys/budget.tsx";
import type { Translate } from "../messages.ts";
import { Button, DateTime, FieldProblems, LimitBar, Link, Pill, SectionHead, Table, TextField, useAround } from "../parts/index.ts";
import { type RefusedForm } from "./invite-forms.tsx";
import { Invitations } from "./open-invitations.tsx";
import { offeredRoles, teamPage } from "./frame.tsx";

/** The word for a way to sign in. */
export const loginWord = (t: Translate, login: string): string => {
  if (login === "credential" || login === "password") return t("password");
  if (login === "passkey") return t("passkey");
  if (login === "oidc") return t("sign_in_sso");
  return Object.hasOwn(loginNames, login) ? loginNames[login as keyof typeof loginNames] : login;
};

const Budget = ({ c, view, member: { role } }: { c: ConsoleContext; view: WalletView | undefined; member: ListedMember }) => {
  const { t } = c.var;
  if (role === "viewer") return <span class="meta">{t("spends_nothing")}</span>;
  if (!view?.budget) return <span class="meta">{t("no_limit")}</span>;
  const { amount, spent } = view.budget;
  return (
    <span class="barcell">
      <LimitBar limit={amount} used={spent} label={t("spent_of_budget")} />
      <span class="meta num">{budgetLeft(c, view.budget)}</span>
    </span>
  );
};

const initial = (name: string) => Array.from(name)[0]?.toUpperCase();

/** The role, and for those who may give another one the choice in place: its button appears with another choice. */
const RoleInPlace = ({ c, of: { id, userId, name, role } }: { c: ConsoleContext; of: ListedMember }) => {
  const { t } = c.var;
  const offered = userId === c.var.user.id ? [] : offeredRoles(c, role);
  if (offered.length === 0) return <>{t(`role_${role}`)}</>;
  return (
    <form method="post" action={`/console/members/${id}/role`} class="row inplace">
      <select class="in" name="role" aria-label={t("role_of", { name })} autocomplete="off">
        {offered.map((one) => (
          <option value={one} selected={one === role}>
            {t(`role_${one}`)}
          </option>
        ))}
      </select>
      <Button class="btn sm" text={t("change")} />
    </form>
  );
};

const Rows = ({ c, members, views }: { c: ConsoleContext; members: ListedMember[]; views: Record<string, WalletView> }) => {
  const { t } = useAround();
  const own = c.var.membership;
  return (
    <Table
      label={t("members")}
      columns={[
        t("member_person"),
        t("role"),
        { name: t("budget"), isExtra: true },
        { name: t("right_keys"), isNumber: true, isExtra: true },
        { name: t("signs_in_with"), isExtra: true },
        { name: t("last_seen"), isExtra: true },
        { name: "", isNumber: true },
      ]}
    >
      {members.map((row) => (
        <tr id={row.id}>
          <th scope="row" class="wrap">
            <span class="thing">
              <span class="avatar" aria-hidden="true">
                {initial(row.name || row.email)}
              </span>
              <span>
                <b>
                  {row.name} {row.userId === c.var.user.id && <span class="tag">{t("member_you")}</span>}
                </b>
                <span class="meta">{row.email}</span>
              </span>
            </span>
          </th>
          <td>
            <RoleInPlace c={c} of={row} /> {row.disabled === 1 && <Pill icon="ban" text={t("admin_disabled")} />}
          </td>
          <td class="hide-s">
            <Budget c={c} view={views[row.id]} member={row} />
          </td>
          <td class="num hide-s">{row.keys === 0 ? "–" : row.keys}</td>
          <td class="hide-s">
            {(row.logins ?? "")
              .split(",")
              .filter(Boolean)
              .map((login) => loginWord(t, login))
              .join(", ") || "–"}
          </td>
          <td class="hide-s">{row.seenAt ? <DateTime ms={Date.parse(row.seenAt)} /> : "–"}</td>
          <td class="num">
            {mayManage(own.role, row.role) && (
              <Link
                class="btn ghost sm"
                href={`/console/members/${row.id}`}
                aria-label={`${t("change")}: ${row.name} ${row.email}`}
                text={t("change")}
              />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
};

/** The columns of what a role may do, with the word for each role. */
const rights: Record<Role, readonly ["yes" | "no", "all" | "own" | "no", "yes" | "reads" | "no"]> = {
  owner: ["yes", "all", "yes"],
  admin: ["yes", "all", "yes"],
  member: ["yes", "own", "no"],
  viewer: ["no", "no", "reads"],
};

const Rights = () => {
  const { t } = useAround();
  return (
    <div>
      <SectionHead title={t("role_rights")} />
      <Table label={t("role_rights")} columns={[t("role"), t("run"), t("right_keys"), t("right_manage")]}>
        {roles.map((role) => (
          <tr>
            <th scope="row">{t(`role_${role}`)}</th>
            {rights[role].map((word) => (
              <td>{word === "no" ? "–" : t(`right_${word}`)}</td>
            ))}
          </tr>
        ))}
      </Table>
      <p class="meta pt">{t("role_rights_note")}</p>
    </div>
  );
};

export async function membersPage(c: ConsoleContext, refused?: RefusedForm) {
  const { t } = c.var;
  const { id } = c.var.account;
  const own = c.var.membership;
  const isManager = isAtLeast(own.role, "admin");
  const [members, open] = await Promise.all([listMembers(c.env.DB, id), listInvitations(c.env.DB, id, Date.now())]);
  const views = await c.env.API.balances(
    id,
    members.map((row) => row.id),
  );
  return teamPage(
    c,
    "members",
    <>
      <FieldProblems problems={refused?.problems ?? []} />
      <Rows c={c} members={members} views={views} />
      <section class="duo">
        <div>
          <SectionHead title={t("invitations")}>{open.length > 0 && <span class="tag num">{open.length}</span>}</SectionHead>
          <Invitations c={c} open={open} isManager={isManager} />
        </div>
        <Rights />
      </section>
      {own.role === "owner" && (
        <section>
          <SectionHead title={t("account_name")} />
          <form method="post" action="/console/members/name" class="stack narrow">
            <TextField name="account-name" label={t("name")} maxlength={200} value={c.var.account.name ?? ""} required />
            <p>
              <Button class="btn" text={t("change_name")} />
            </p>
          </form>
        </section>
      )}
      <section>
        <p>
          <Link class="btn danger" href="/console/members/leave" text={t("leave_account")} />
        </p>
      </section>
    </>,
    refused ? 400 : 200,
    {
      lead: members.length === 1 ? t("members_alone") : t("members_lead", { count: members.length }),
      ...(isManager && {
        actions: <Link class="btn primary" href="/console/members/invitations#invite" icon="plus" text={t("invite")} />,
      }),
    },
  );
}
