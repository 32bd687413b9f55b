/** The form for a prepaid code. Attempts are counted for the account and for the network, although codes cannot be guessed. */

import { countAttempt, forgiveAttempt } from "../../db/attempts.ts";
import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { actor } from "../frame.tsx";
import { network } from "../request-limits.ts";
import { Button, TextField, useAround } from "../parts/index.ts";
import type { PageStatus } from "../page-status.ts";

/** Attempts that fail within an hour. */
const rule = { window: 3600, max: 10 };

/** What became of a code: the credited amount, or why it was refused, as a message. */
export type RedeemOutcome = { amount: number } | { refusal: string; status: PageStatus };

export async function redeem(c: ConsoleContext, typed: string): Promise<RedeemOutcome> {
  const { t } = c.var;
  const { id } = c.var.account;
  const keys = [`redeem account ${id}`, `redeem network ${network(c)}`];
  // One after the other: an attempt that the first refuses does not count for the network.
  for (const key of keys) if (!(await countAttempt(c.env.DB, key, rule))) return { refusal: t("too_many_in_an_hour"), status: 429 };
  const done = await c.env.API.redeemCode(id, typed, actor(c));
  if (done.state === "unlimited") return { refusal: t("billing_unlimited"), status: 400 };
  if (done.state !== "redeemed") return { refusal: t(`billing_code_${done.state}`), status: 400 };
  await Promise.all(keys.map((key) => forgiveAttempt(c.env.DB, key)));
  return { amount: done.amount };
}

export const redeemedText = (c: ConsoleContext, amount: number) => c.var.t("billing_redeemed", { amount: formatAmount(c, amount) });

export const RedeemForm = ({ path, typed, problem }: { path: string; typed: string | undefined; problem: string | undefined }) => {
  const { t } = useAround();
  return (
    <form method="post" action={path} class="stack narrow" id="redeem">
      <TextField
        name="code"
        label={t("billing_code")}
        hint={t("billing_code_hint")}
        value={typed}
        error={problem}
        autocomplete="off"
        autocapitalize="characters"
        spellcheck="false"
        maxlength={60}
        required
      />
      <p>
        <Button class="btn" text={t("billing_redeem")} />
      </p>
    </form>
  );
};
