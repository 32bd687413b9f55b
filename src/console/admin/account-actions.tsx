/** An admin's actions on an account: quota, budget, disabling, role, invitation, erasure, deleting a key. Each is logged. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { type Account, setAdmin, setDisabled, invite } from "../../db/accounts.ts";
import { deleteKey, listKeys } from "../../db/api-keys.ts";
import { explainQuotaChange } from "../../db/quota-changes.ts";
import { readBalance } from "../ledger.ts";
import { nothingHere } from "../frame.tsx";
import { formatAmount, parseQuota } from "../amounts.ts";
import { readForm } from "../forms.ts";
import { changeBudget, readBudget } from "../keys/budget.tsx";
import { postOf } from "../mail.ts";
import { findPerson } from "../members.ts";
import { accountPage } from "./account.tsx";
import { maxReason } from "./quota.tsx";
import { accountAsked, adminPage, accountName, note, operator } from "./frame.tsx";
import { DateTime, Link, Note, Problem, Question, ShownOnce, TextField } from "../parts/index.ts";
import { signup } from "../settings.ts";

type Change = { quota: number | null } | { add: number };

/** The quota change of a form, or undefined. No limit must be chosen explicitly: an empty field may be a mistake. */
function changeAsked(how: string, amount: string): Change | undefined {
  if (how === "unlimited") return { quota: null };
  const [, minus = "", digits = ""] = /^([-−]?)(\d.*)$/.exec(amount) ?? [];
  const millionths = digits === "" ? undefined : parseQuota(digits);
  if (millionths === undefined || millionths === null) return undefined;
  if (how === "add") return { add: minus ? -millionths : millionths };
  return how === "set" && !minus ? { quota: millionths } : undefined;
}

async function setQuota(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  const field = await readForm(c);
  const change = changeAsked(field("how"), field("amount"));
  const typed = { amount: field("amount"), reason: field("reason"), how: field("how") };
  if (!change) return accountPage(c, account, { quota: t("bad_quota"), typed });
  if ((await c.env.API.changeQuota(account.id, account.id, change, operator(c))) === "below_use") {
    const { used, reserved } = await readBalance(c, account.id);
    return accountPage(c, account, { quota: t("admin_below_use", { amount: formatAmount(c, used + reserved) }), typed });
  }
  await explainQuotaChange(c.env.DB, account.id, c.var.account.id, field("reason").slice(0, maxReason));
  note(c, "quota_changed", account.id, "add" in change ? { add: change.add } : { quota: change.quota ?? "unlimited" });
  return c.redirect(`/console/admin/accounts/${account.id}`, 303);
}

async function setBudget(c: ConsoleContext, account: Account) {
  const field = await readForm(c);
  const budget = readBudget(c, field);
  if (typeof budget === "string") return accountPage(c, account, { budget, typedBudget: field });
  await changeBudget(c, account.id, account.id, budget, operator(c));
  note(c, "budget_changed", account.id, budget ? { budget: budget.amount, window: budget.window } : { budget: "unlimited" });
  return c.redirect(`/console/admin/accounts/${account.id}`, 303);
}

/** Actions with a confirmation. Admins cannot apply them to their own account, so that at least one admin remains. */
const actions = {
  disable: { destroys: true, outcome: "disabled", change: setDisabled, to: true },
  enable: { destroys: false, outcome: "enabled", change: setDisabled, to: false },
  appoint: { destroys: false, outcome: "admin_given", change: setAdmin, to: true },
  dismiss: { destroys: true, outcome: "admin_taken", change: setAdmin, to: false },
} as const;
type Action = keyof typeof actions;

async function runAction(c: ConsoleContext, account: Account, name: Action) {
  const { t } = c.var;
  const { outcome, destroys, change, to } = actions[name];
  const back = `/console/admin/accounts/${account.id}`;
  if (account.id === c.var.account.id) return adminPage(c, accountName(account), <Problem text={t("admin_not_oneself")} />, 403);
  if (c.req.method !== "POST")
    return adminPage(
      c,
      t(`admin_${name}_ask`, { name: accountName(account) }),
      <Question text={t(`admin_${name}_warning`)} yes={t(name)} back={back} isHarmless={!destroys} />,
    );
  await change(c.env.DB, c.env.API, operator(c), account.id, to);
  note(c, outcome, account.id);
  return c.redirect(back, 303);
}

async function inviteInto(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  if (signup(c.env) === "closed" || (await findPerson(c.env.DB, account.id)) !== null)
    return adminPage(c, accountName(account), <Problem text={t("admin_no_invitation")} />, 400);
  const { token, expiresAt } = await invite(c.env.DB, operator(c), account.id);
  const { origin, host } = new URL(c.req.url);
  const link = `${origin}/console/sign-up?invitation=${token}`;
  const post = postOf(c);
  const by = accountName(c.var.account);
  await post?.({
    to: account.email,
    language: c.var.language,
    subject: t("mail_invite_subject", { by, host }),
    text: `${t("mail_greeting", { name: account.name ?? account.email })}\n\n${t("mail_invite", { by, host, link })}`,
    action: t("mail_invite_action"),
  });
  note(c, "invited", account.id, { mailed: post !== undefined });
  return adminPage(
    c,
    t("admin_invitation_for", { name: accountName(account) }),
    <>
      <ShownOnce id="invitation" secret={link}>
        {t(post ? "admin_invitation_mailed" : "admin_invitation_shown", { email: account.email })} {t("expires")}:{" "}
        <DateTime ms={expiresAt} />
      </ShownOnce>
      <p class="gap0">
        <Link class="btn primary" href={`/console/admin/accounts/${account.id}`} text={t("admin_done")} />
      </p>
    </>,
  );
}

/** Asks for the account's address as confirmation, then erases the account and its owner. */
async function eraseAccount(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  const back = `/console/admin/accounts/${account.id}`;
  if (account.id === c.var.account.id) return adminPage(c, accountName(account), <Problem text={t("admin_not_oneself")} />, 403);
  const isPost = c.req.method === "POST";
  const typed = isPost ? (await readForm(c))("email") : "";
  if (!isPost || typed.toLowerCase() !== account.email.toLowerCase())
    return adminPage(
      c,
      t("admin_erase_ask", { name: accountName(account) }),
      <Question text={t("admin_erase_warning")} yes={t("admin_erase")} back={back}>
        <TextField
          name="email"
          type="email"
          label={t("admin_erase_type", { email: account.email })}
          value={typed}
          error={isPost ? t("admin_erase_other") : undefined}
          autocomplete="off"
          required
        />
      </Question>,
      isPost ? 400 : 200,
    );
  const state = await c.env.API.erase(account.id, operator(c));
  if (state === undefined) return adminPage(c, accountName(account), <Problem text={t("admin_erase_absent")} />, 500);
  note(c, "erased", account.id, { state });
  return adminPage(
    c,
    t("admin_accounts"),
    <Note tone="good" role="status">
      {t(state === "continues" ? "admin_erase_continues" : "admin_erased", { email: account.email })}
    </Note>,
  );
}

async function removeKey(c: ConsoleContext, account: Account) {
  const { t } = c.var;
  const key = (await listKeys(c.env.DB, account.id)).find(({ id }) => id === c.req.param("key"));
  if (!key) return nothingHere(c);
  const back = `/console/admin/accounts/${account.id}`;
  if (c.req.method !== "POST")
    return adminPage(
      c,
      t("delete_key", { name: key.name }),
      <Question text={`${accountName(account)}: ${t("delete_warning")}`} yes={t("delete")} back={back} />,
    );
  await deleteKey(c.env.DB, c.env.API, operator(c), key);
  note(c, "key_deleted", account.id, { key: key.id });
  return c.redirect(back, 303);
}

/** A handler for the account that the path names. */
const of = (act: (c: ConsoleContext, account: Account) => Promise<Response>) => async (c: ConsoleContext) => {
  const account = await accountAsked(c);
  return account ? act(c, account) : nothingHere(c);
};

export const accountActions = new Hono<ConsoleEnvironment>()
  .post("/quota", of(setQuota))
  .post("/budget", of(setBudget))
  .post("/invite", of(inviteInto))
  .on(["GET", "POST"], "/erase", of(eraseAccount))
  .on(["GET", "POST"], "/keys/:key", of(removeKey))
  .on(["GET", "POST"], "/:action", (c) => {
    const name = c.req.param("action");
    return Object.hasOwn(actions, name) ? of((c, account) => runAction(c, account, name as Action))(c) : nothingHere(c);
  });
