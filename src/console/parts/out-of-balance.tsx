/** What to do when the balance does not cover something: which model it covers, and who can add to it. */

import { roundedAmount } from "../amounts.ts";
import type { Helper } from "../billing/credit.tsx";
import { useAround, useGap } from "./context.ts";
import { Icon } from "./icon.tsx";
import { Link } from "./button.tsx";

export interface OutOfBalanceProps {
  /** Millionths. */
  left: number;
  helper: Helper;
  /** The dearest model that the balance covers, with its price; "none" if it covers none, undefined if nothing is about to run. */
  covered?: { model: string; amount: number; href: string } | "none";
}

export const OutOfBalance = ({ left, helper, covered }: OutOfBalanceProps) => {
  const { t, language, unit } = useAround();
  const gap = useGap();
  const amount = (millionths: number) => roundedAmount(language, unit, millionths);
  const model = covered === "none" ? undefined : covered;
  return (
    <div class="note warn" role="alert">
      <Icon name="warn" />
      <div>
        {model
          ? t("low_covers", { left: amount(left), model: model.model, amount: amount(model.amount) })
          : t(covered === "none" ? "low_covers_none" : "low_left", { left: amount(left) })}
        {gap}
        {t(helper === "pay" ? "low_pay" : helper === "owners" ? "low_owners" : "low_operator")}
        <p class="row gap0">
          {model && <Link class="btn sm" href={model.href} text={t("low_use", { model: model.model })} />}
          <Link
            class="btn sm"
            href={helper === "pay" ? "/console/billing" : "/console/credit"}
            text={t(helper === "pay" ? "billing_top_up" : "credit_ask")}
          />
        </p>
      </div>
    </div>
  );
};
