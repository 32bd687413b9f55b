/** The forms that invite members: by mail to one address, or by a link for several people. */

import type { ConsoleContext } from "../context.ts";
import type { Role } from "../../base/roles.ts";
import { Button, type FieldProblem, Fold, SelectField, TextField } from "../parts/index.ts";

/** What a refused form of the page contained. */
export interface RefusedForm {
  form: "mail" | "link" | "name";
  problems: FieldProblem[];
  typed: (name: string) => string;
}

export const maxDays = 30;
export const maxPeople = 100;

/** The roles that a user with this role may invite to by mail. A link may be passed on, so it never makes an admin. */
export const mailRoles = (role: Role): Role[] =>
  role === "owner" ? ["member", "viewer", "admin", "owner"] : ["member", "viewer", "admin"];
export const linkRoles: Role[] = ["member", "viewer"];

interface FormsProps {
  c: ConsoleContext;
  refused: RefusedForm | undefined;
}

const Roles = ({ c, of, id }: { c: ConsoleContext; of: Role[]; id: string }) => (
  <SelectField name="role" id={id} label={c.var.t("role")} options={of.map((role) => ({ value: role, text: c.var.t(`role_${role}`) }))} />
);

export const InviteForms = ({ c, refused }: FormsProps) => {
  const { t } = c.var;
  const typed = (form: RefusedForm["form"], name: string) => (refused?.form === form ? refused.typed(name) : undefined);
  const findError = (name: string) => refused?.problems.find(({ field }) => field === name)?.text;
  return (
    <section>
      <Fold text={t("invite")} isOpen={refused?.form === "mail" || refused?.form === "link"}>
        <div class="duo">
          <form method="post" action="/console/members/invite" class="card stack">
            <h2 id="invite">{t("invite_by_mail")}</h2>
            <TextField
              name="email"
              type="email"
              label={t("email")}
              autocomplete="off"
              maxlength={254}
              value={typed("mail", "email")}
              error={findError("email")}
              required
            />
            <Roles c={c} of={mailRoles(c.var.membership.role)} id="mail-role" />
            <p>
              <Button class="btn primary" text={t("invite")} />
            </p>
          </form>
          <form method="post" action="/console/members/link" class="card stack">
            <h2>{t("invite_by_link")}</h2>
            <TextField
              name="link"
              label={t("link_name")}
              autocomplete="off"
              maxlength={100}
              value={typed("link", "link")}
              hint={t("link_hint")}
              error={findError("link")}
              required
            />
            <Roles c={c} of={linkRoles} id="link-role" />
            <div class="cols two">
              <TextField
                name="people"
                type="number"
                label={t("link_people")}
                min={1}
                max={maxPeople}
                value={typed("link", "people") || "10"}
                error={findError("people")}
                required
              />
              <TextField
                name="days"
                type="number"
                label={t("link_days")}
                min={1}
                max={maxDays}
                value={typed("link", "days") || "7"}
                error={findError("days")}
                required
              />
            </div>
            <p>
              <Button class="btn" text={t("make_link")} />
            </p>
          </form>
        </div>
      </Fold>
    </section>
  );
};
