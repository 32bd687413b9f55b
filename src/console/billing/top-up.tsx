/** The form for a payment at Stripe: an offered amount or another one. */

import type { CheckoutAnswer, PaymentOptions } from "../../rpc/payments.ts";
import { formatAmount, fullAmount, parseQuota } from "../amounts.ts";
import type { ConsoleContext } from "../context.ts";
import { actor } from "../frame.tsx";
import { Icon, TextField, useAround } from "../parts/index.ts";
import type { PageStatus } from "../page-status.ts";
import { fromUnits } from "../../db/ledger.ts";
import { alert } from "../../base/log.ts";

/** Where a payment goes on, or why it does not, as a message. */
type TopUpOutcome = { url: string } | { refusal: string; status: PageStatus };

/** The page to which Stripe returns. */
export const backTo = (c: ConsoleContext) => new URL("/console/billing", c.req.url).href;

/** Opens a page of Stripe for the amount of the form: what was typed, else what was chosen (millionths). */
export async function topUp(c: ConsoleContext, chosen: string, typed: string): Promise<TopUpOutcome> {
  const { t } = c.var;
  const amount = typed === "" ? Number(/^\d{1,16}$/.exec(chosen)?.[0]) : parseQuota(typed);
  if (!amount || !Number.isSafeInteger(amount)) return { refusal: t("billing_bad_amount"), status: 400 };
  const order = { accountId: c.var.account.id, amount, returnUrl: backTo(c), by: actor(c) };
  const made = await c.env.API.checkout(order).catch(() => undefined);
  return made && made.refused === undefined ? { url: made.url } : toRefusal(c, made);
}

function toRefusal(c: ConsoleContext, made: (CheckoutAnswer & { refused: string }) | undefined): TopUpOutcome {
  const { t } = c.var;
  const shown = (units: number) => formatAmount(c, fromUnits(units));
  switch (made?.refused) {
    case "step":
      return { refusal: t("billing_amount_step", { step: shown(made.step) }), status: 400 };
    case "range":
      return { refusal: t("billing_amount_range", { min: shown(made.min), max: shown(made.max) }), status: 400 };
    case "too_many":
      return { refusal: t("too_many_in_an_hour"), status: 429 };
    case "unlimited":
      return { refusal: t("billing_unlimited"), status: 400 };
    default:
      return { refusal: t("billing_stripe_away"), status: 503 };
  }
}

/** The address of Stripe's portal; undefined before the first payment, and where nothing can be paid. Throws if Stripe does not answer. */
export const portalUrl = (c: ConsoleContext): Promise<string | undefined> => c.env.API.paymentPortal(c.var.account.id, backTo(c));

/** What can be paid; undefined where nothing can, also with a setting that is wrong: the page works without it, and the log names it. */
export async function paymentOptions(c: ConsoleContext): Promise<PaymentOptions | undefined> {
  try {
    return await c.env.API.paymentOptions(c.var.account.id);
  } catch (error) {
    alert("payment", { outcome: "not_offered" }, error);
    return undefined;
  }
}

interface TopUpProps {
  path: string;
  options: PaymentOptions;
  typed: string | undefined;
  problem: string | undefined;
}

/** Without script, too, the button names the amount that is chosen: the stylesheet shows one of its texts, the last for a typed amount. */
export const TopUpForm = ({ path, options: { offered, min, max }, typed, problem }: TopUpProps) => {
  const { language, t, unit } = useAround();
  const amount = (millionths: number) => fullAmount(language, unit, millionths).replace(/[.,]00(?=\D*$)/, "");
  return (
    <form method="post" action={path} class="stack">
      <fieldset class="amounts">
        <legend class="vh">{t("billing_amount")}</legend>
        {offered.map((one, at) => (
          <label class="chip">
            {amount(one)}
            <input type="radio" name="chosen" value={String(one)} checked={at === 0} />
          </label>
        ))}
      </fieldset>
      <TextField
        name="other"
        label={t("billing_other_amount")}
        opt={t("billing_between", { unit, min: amount(min), max: amount(max) })}
        value={typed}
        error={problem}
        inputmode="decimal"
        placeholder=" "
        autocomplete="off"
        maxlength={20}
      />
      <p>
        <button class="btn primary full pay">
          <Icon name="card" />
          {offered.map((one) => (
            <span>{t("billing_pay_amount", { amount: fullAmount(language, unit, one) })}</span>
          ))}
          <span>{t("billing_pay")}</span>
        </button>
      </p>
      <p class="meta">
        {t("billing_at_stripe")} <a href="#redeem">{t("billing_code_title")}</a>
      </p>
    </form>
  );
};
