/** One member: role, budget, disabling, removal; and leaving the account. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { readForm } from "../forms.ts";
import { type Context, Hono } from "hono";
import {
  changeMember,
  findMembership,
  findMembershipOf,
  mayManage,
  type MemberOutcome,
  type Membership,
  removeMember,
} from "../../db/memberships.ts";
import { BudgetFields, changeBudget, readBudget } from "../keys/budget.tsx";
import { actor, nothingHere, notYourRole, page } from "../frame.tsx";
import { Back, Button, Link, Problem, Question, SectionHead } from "../parts/index.ts";
import { accountTitle, offeredRoles } from "./frame.tsx";

async function memberPage(c: ConsoleContext, member: Membership, problem?: string, budgetError?: string, typed?: (name: string) => string) {
  const { t } = c.var;
  const { [member.id]: view } = await c.env.API.balances(member.accountId, [member.id]);
  const path = `/console/members/${member.id}`;
  return page(
    c,
    member.name,
    <>
      <Problem text={problem} />
      <form method="post" action={`${path}/role`} class="card stack">
        <h2>{t("role")}</h2>
        <fieldset class="field">
          <legend>{t("role_choose")}</legend>
          <div>
            {offeredRoles(c, member.role).map((role) => (
              <label class="check">
                <input type="radio" name="role" value={role} checked={role === member.role} />
                {t(`role_${role}`)}: {t(`role_${role}_may`)}
              </label>
            ))}
          </div>
        </fieldset>
        <p>
          <Button class="btn primary" text={t("role_change")} />
        </p>
      </form>
      <section>
        <form method="post" action={`${path}/budget`} class="card stack">
          <h2>{t("budget")}</h2>
          <p class="muted">{t("member_budget_note")}</p>
          <BudgetFields c={c} budget={view?.budget ?? null} typed={typed} error={budgetError} />
          <p>
            <Button class="btn" text={t("budget_change")} />
          </p>
        </form>
      </section>
      {member.userId !== c.var.user.id && (
        <section>
          <SectionHead title={t("member_end")} />
          <p class="muted">{t("member_disable_note")}</p>
          <div class="row">
            <form method="post" action={`${path}/${member.disabled ? "enable" : "disable"}`}>
              <Button class="btn" text={t(member.disabled ? "enable" : "disable")} />
            </form>
            <Link class="btn danger" href={`${path}/remove`} text={t("remove")} />
          </div>
        </section>
      )}
    </>,
    problem === undefined && budgetError === undefined ? 200 : 400,
    { width: "slim", lead: <Back to="/console/members" text={t("members")} more={member.email} /> },
  );
}

/** The answer to a change. */
function answerOutcome(c: ConsoleContext, outcome: MemberOutcome, member: Membership, done: string) {
  if (outcome === "done") return c.redirect(`/console/members?done=${done}`, 303);
  return outcome === "last_owner" ? memberPage(c, member, c.var.t("last_owner")) : notYourRole(c);
}

async function changeRole(c: ConsoleContext, member: Membership) {
  const wanted = (await readForm(c))("role");
  const role = offeredRoles(c, member.role).find((one) => one === wanted);
  if (!role) return memberPage(c, member, c.var.t("bad_role"));
  if (role === member.role) return c.redirect("/console/members", 303);
  return answerOutcome(c, await changeMember(c.env.DB, c.env.API, actor(c), member, { role }), member, "changed");
}

const setDisabled = (disabled: boolean) => async (c: ConsoleContext, member: Membership) => {
  // Users cannot disable themselves: they could not undo it.
  if (member.userId === c.var.user.id) return notYourRole(c);
  return answerOutcome(c, await changeMember(c.env.DB, c.env.API, actor(c), member, { disabled }), member, "changed");
};

async function setBudget(c: ConsoleContext, member: Membership) {
  const field = await readForm(c);
  const budget = readBudget(c, field);
  if (typeof budget === "string") return memberPage(c, member, undefined, budget, field);
  await changeBudget(c, member.accountId, member.id, budget);
  return c.redirect("/console/members?done=changed", 303);
}

function removePage(c: ConsoleContext, member: Membership, problem?: string) {
  const { t } = c.var;
  const content = <Question text={t("member_remove_warning")} yes={t("remove")} back="/console/members" problem={problem} />;
  return page(c, t("member_remove_ask", { name: member.email }), content, problem === undefined ? 200 : 400, { width: "slim" });
}

async function remove(c: ConsoleContext, member: Membership) {
  if (member.userId === c.var.user.id) return leave(c);
  const outcome = await removeMember(c.env.DB, c.env.API, actor(c), member);
  return outcome === "last_owner" ? removePage(c, member, c.var.t("last_owner")) : answerOutcome(c, outcome, member, "removed");
}

function leavePage(c: ConsoleContext, problem?: string) {
  const { t } = c.var;
  const content = <Question text={t("leave_warning")} yes={t("leave_account")} back="/console/members" problem={problem} />;
  return page(c, t("leave_ask", { account: accountTitle(c) }), content, problem === undefined ? 200 : 400, { width: "slim" });
}

async function leave(c: ConsoleContext) {
  const member = await findMembershipOf(c.env.DB, c.var.account.id, c.var.user.id);
  if (!member) return c.redirect("/console", 303);
  const outcome = await removeMember(c.env.DB, c.env.API, actor(c), member);
  return outcome === "done" ? c.redirect("/console", 303) : leavePage(c, c.var.t("last_owner"));
}

/** A handler for the member of the account that the path names, whom the user may change. */
const of = (answer: (c: ConsoleContext, member: Membership) => Response | Promise<Response>) => async (c: Context<ConsoleEnvironment>) => {
  const member = await findMembership(c.env.DB, c.var.account.id, c.req.param("id") ?? "");
  if (!member) return nothingHere(c);
  return mayManage(c.var.membership.role, member.role) ? answer(c, member) : notYourRole(c);
};

/** Mounted after the page's router, which admits only those who may manage members, and everybody to leave. */
export const member = new Hono<ConsoleEnvironment>()
  .get("/leave", (c) => leavePage(c))
  .post("/leave", leave)
  .get(
    "/:id",
    of((c, found) => memberPage(c, found)),
  )
  .post("/:id/role", of(changeRole))
  .post("/:id/budget", of(setBudget))
  .post("/:id/disable", of(setDisabled(true)))
  .post("/:id/enable", of(setDisabled(false)))
  .get(
    "/:id/remove",
    of((c, found) => removePage(c, found)),
  )
  .post("/:id/remove", of(remove));
