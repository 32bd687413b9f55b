/** How members sign in: the ways that the operator has set, and the groups of the OpenID provider that give a role in this account. */

import type { ConsoleContext } from "../context.ts";
import { configuredLogins, loginNames } from "../auth/logins.ts";
import { Facts, SectionHead, Table } from "../parts/index.ts";
import { groupTable, isSignOnOnly, signup, singleSignOn } from "../settings.ts";
import { teamPage } from "./frame.tsx";

export function signInPage(c: ConsoleContext) {
  const { t } = c.var;
  const provider = singleSignOn(c.env);
  const ways = [
    ...(isSignOnOnly(c.env) ? [] : [t("password"), t("passkey")]),
    ...configuredLogins(c.env).map((login) => loginNames[login]),
  ];
  const groups = provider ? groupTable(c.env).filter(({ account }) => account === c.var.account.id) : [];
  return teamPage(
    c,
    "member_sign_in",
    <>
      <section class="card">
        <Facts
          of={[
            [t("sign_in_sso"), provider ? new URL(provider.issuer).host : t("sign_in_sso_off")],
            [t("sign_in_ways"), ways.join(", ") || t("sign_in_sso_only")],
            [t("sign_in_new"), t(`sign_in_new_${signup(c.env)}`)],
          ]}
        />
      </section>
      {groups.length > 0 && (
        <section>
          <SectionHead title={t("sign_in_groups")} />
          <Table label={t("sign_in_groups")} columns={[t("sign_in_group"), t("role")]}>
            {groups.map(({ group, role }) => (
              <tr>
                <th scope="row">{group}</th>
                <td>{t(`role_${role}`)}</td>
              </tr>
            ))}
          </Table>
          <p class="meta pt">{t("sign_in_groups_note")}</p>
        </section>
      )}
    </>,
    200,
    { lead: t("sign_in_lead") },
  );
}
