/** The setting below which balance owners get an e-mail. */

import { decimal } from "../amounts.ts";
import { Button, TextField, useAround } from "../parts/index.ts";

interface LowBalanceProps {
  path: string;
  /** Millionths; null without an e-mail. */
  threshold: number | null;
  typed?: { value: string; problem: string } | undefined;
}

export const LowBalance = ({ path, threshold, typed }: LowBalanceProps) => {
  const { t, unit } = useAround();
  return (
    <details class="more" open={typed !== undefined}>
      <summary>{threshold === null ? t("billing_low_off") : t("billing_low_on", { amount: `${decimal(threshold)} ${unit}` })}</summary>
      <form method="post" action={path} class="with-button pt">
        <TextField
          name="below"
          label={t("billing_low_below")}
          opt={unit}
          hint={t("billing_low_hint")}
          value={typed?.value ?? (threshold === null ? "" : decimal(threshold))}
          error={typed?.problem}
          inputmode="decimal"
          autocomplete="off"
          maxlength={20}
        />
        <Button class="btn" text={t("save")} />
      </form>
    </details>
  );
};
