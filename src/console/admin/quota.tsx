/** The form that changes an account's quota. */

import { Button, CheckField, Problem, TextField, useAround } from "../parts/index.ts";

export const maxReason = 200;

/** The typed values of the form. */
export interface TypedQuota {
  how: string;
  amount: string;
  reason: string;
}

interface QuotaFormProps {
  path: string;
  unit: string;
  problem: string | undefined;
  typed: TypedQuota | undefined;
}

export const QuotaForm = ({ path, unit, problem, typed }: QuotaFormProps) => {
  const { t } = useAround();
  return (
    <form method="post" action={`${path}/quota`} class="card stack">
      <h2>{t("admin_change_quota")}</h2>
      <Problem text={problem} />
      <fieldset class="field">
        <legend>{t("admin_how")}</legend>
        <div>
          <CheckField type="radio" name="how" value="add" checked={!typed || typed.how === "add"} text={t("admin_add")} />
          <CheckField type="radio" name="how" value="set" checked={typed?.how === "set"} text={t("admin_set")} />
          <CheckField type="radio" name="how" value="unlimited" checked={typed?.how === "unlimited"} text={t("no_limit")} />
        </div>
      </fieldset>
      <TextField
        name="amount"
        label={t("admin_amount")}
        opt={unit}
        inputmode="decimal"
        autocomplete="off"
        hint={t("admin_amount_hint")}
        value={typed?.amount}
      />
      <TextField
        name="reason"
        label={t("admin_reason")}
        opt={t("optional")}
        maxlength={maxReason}
        autocomplete="off"
        hint={t("admin_quota_reason_hint")}
        value={typed?.reason}
      />
      <p>
        <Button class="btn primary" text={t("admin_change_quota")} />
      </p>
    </form>
  );
};
