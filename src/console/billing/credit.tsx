/** Who can add to a balance that does not suffice, and `/console/credit`, which asks them for it by e-mail. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { countAttempt } from "../../db/attempts.ts";
import { remaining } from "../../db/ledger.ts";
import { isAtLeast } from "../access.ts";
import { readForm } from "../forms.ts";
import { page, signedIn } from "../frame.tsx";
import { readBalance } from "../ledger.ts";
import { toLetter } from "../letters.ts";
import { postOf } from "../mail.ts";
import { findOperators, findRecipients } from "../members.ts";
import { Button, Note, Problem, TextArea } from "../parts/index.ts";
import { paymentOptions } from "./top-up.tsx";
import type { PageStatus } from "../page-status.ts";

const path = "/console/credit";
/** Questions of one account, and their length. */
const asked = { window: 3600, max: 2 };
const maxWords = 500;

/** "pay": the user can; else whom to ask. */
export type Helper = "pay" | "owners" | "operator";

export async function findHelper(c: ConsoleContext): Promise<Helper> {
  if (!(await paymentOptions(c))) return "operator";
  return isAtLeast(c.var.membership.role, "admin") ? "pay" : "owners";
}

interface Shown {
  words?: string;
  problem?: string;
  status?: PageStatus;
}

async function creditPage(c: ConsoleContext, { words = "", problem, status = 200 }: Shown = {}) {
  const { t } = c.var;
  const helper = await findHelper(c);
  if (helper === "pay") return c.redirect("/console/billing", 303);
  return page(
    c,
    t("credit_ask"),
    c.req.query("sent") === "1" ? (
      <Note tone="good" role="status">
        {t("credit_sent")}
      </Note>
    ) : !postOf(c) ? (
      <Note>{t("credit_no_mail")}</Note>
    ) : (
      <form method="post" action={path} class="stack" data-once>
        <Problem text={problem} />
        <TextArea name="words" label={t("credit_words")} opt={t("optional")} rows={3} maxlength={maxWords} value={words} />
        <p>
          <Button class="btn primary" text={t("credit_ask")} />
        </p>
      </form>
    ),
    status,
    { width: "slim", lead: t(helper === "owners" ? "credit_from_owners" : "credit_from_operator") },
  );
}

async function askPosted(c: ConsoleContext) {
  const { t } = c.var;
  const words = (await readForm(c))("words");
  const account = c.var.account;
  const post = postOf(c);
  const helper = await findHelper(c);
  if (helper === "pay") return c.redirect("/console/billing", 303);
  if (words.length > maxWords) return creditPage(c, { words, problem: t("credit_words_long", { most: maxWords }), status: 400 });
  const recipients = helper === "owners" ? await findRecipients(c.env.DB, account.id) : await findOperators(c.env.DB);
  if (!post || recipients.length === 0) return creditPage(c, { words, problem: t("credit_no_mail"), status: 400 });
  if (!(await countAttempt(c.env.DB, `credit ${account.id}`, asked)))
    return creditPage(c, { words, problem: t("too_many_in_an_hour"), status: 429 });
  const left = remaining(await readBalance(c, account.id));
  const link = helper === "owners" ? "/console/billing" : `/console/admin/accounts/${account.id}`;
  // In one quoted paragraph: a link that stood alone would become the e-mail's button.
  const said = words === "" ? "" : `\n\n“${words.replace(/\s+/g, " ")}”`;
  for (const recipient of recipients)
    await post(
      toLetter(c.env, new URL(c.req.url).origin, recipient, (translate, amount) => {
        const values = {
          person: c.var.user.email,
          account: account.name || account.email,
          left: left === null ? translate("unlimited") : amount(left),
        };
        return { subject: translate("mail_credit_subject", values), text: translate("mail_credit", values) + said, path: link };
      }),
    );
  return c.redirect(`${path}?sent=1`, 303);
}

export const credit = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", (c) => creditPage(c))
  .post("/", askPosted);
