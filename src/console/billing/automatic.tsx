/** Automatic top-up: its settings, what it has taken this month, and why it is paused. */

import type { TopUp } from "../../db/top-ups.ts";
import type { PaymentOptions } from "../../rpc/payments.ts";
import { decimal, formatAmount, fullAmount, parseQuota } from "../amounts.ts";
import type { ConsoleContext } from "../context.ts";
import { actor } from "../frame.tsx";
import { Button, LimitBar, Note, TextField, useAround } from "../parts/index.ts";
import { backTo } from "./top-up.tsx";
import type { PageStatus } from "../page-status.ts";
import { fromUnits } from "../../db/ledger.ts";

const fields = ["threshold", "amount", "ceiling"] as const;
type Field = (typeof fields)[number];

/** What was typed, and what is wrong with it. */
export interface TypedTopUp {
  values: Record<Field, string>;
  problems: Partial<Record<Field, string>>;
}

/** Where to go on, or the form with its problems. */
type Outcome = { to: string } | ({ status: PageStatus } & ({ automatic: TypedTopUp } | { problem: string }));

/** Sets automatic top-up from the form; a card that is missing is stored at Stripe next. */
export async function changeAutomatic(c: ConsoleContext, field: (name: string) => string): Promise<Outcome> {
  const { t } = c.var;
  const isOff = field("do") === "off";
  const values = Object.fromEntries(fields.map((name) => [name, field(name).slice(0, 40)])) as Record<Field, string>;
  const read = (name: Field) => parseQuota(values[name]) ?? 0;
  const wrong = isOff ? [] : fields.filter((name) => read(name) <= 0);
  if (wrong.length > 0)
    return { automatic: { values, problems: Object.fromEntries(wrong.map((name) => [name, t("billing_bad_amount")])) }, status: 400 };
  const settings = isOff ? null : { threshold: read("threshold"), amount: read("amount"), ceiling: read("ceiling") };
  const order = { accountId: c.var.account.id, settings, wantsCard: field("do") === "card", returnUrl: backTo(c) };
  const answer = await c.env.API.changeTopUp(order, actor(c)).catch(() => undefined);
  if (!answer || answer.refused === "off") return { problem: t("billing_stripe_away"), status: 503 };
  if (answer.refused === undefined) return { to: answer.url ?? "/console/billing" };
  if (answer.refused === "unlimited") return { problem: t("billing_unlimited"), status: 400 };
  const shown = (units: number) => formatAmount(c, fromUnits(units));
  const problem =
    answer.refused === "step"
      ? t("billing_amount_step", { step: shown(answer.step) })
      : t("billing_amount_range", { min: shown(answer.min), max: shown(answer.max) });
  return { automatic: { values, problems: { [answer.field]: problem } }, status: 400 };
}

interface AutomaticProps {
  path: string;
  options: PaymentOptions;
  set: (TopUp & { taken: number }) | undefined;
  typed: TypedTopUp | undefined;
}

const labels = { threshold: "billing_below", amount: "billing_add", ceiling: "billing_ceiling" } as const;

/** What was taken this month of the ceiling. */
const Taken = ({ taken, ceiling, text }: { taken: number; ceiling: number; text: string }) => {
  const { language, t } = useAround();
  const label = t("billing_used_in", { month: new Date().toLocaleString(language, { month: "long", timeZone: "UTC" }) });
  return (
    <div class="field">
      <span class="label">{label}</span>
      <div class="taken">
        <LimitBar limit={ceiling} used={taken} label={label} />
        <span class="meta num">{text}</span>
      </div>
    </div>
  );
};

const formId = "automatic";

interface SwitchProps {
  /** What it does. */
  value: "off" | "save";
  isOn?: boolean;
  /** Its state in a word. */
  text: string;
  /** The form whose fields it sends, from outside of the form. */
  form?: string;
}

/** The switch is a button, so that it works without script. */
const Switch = ({ value, isOn = false, text, form }: SwitchProps) => (
  <span class="row">
    <button
      class="switch"
      role="switch"
      name="do"
      value={value}
      form={form}
      aria-checked={isOn ? "true" : "false"}
      aria-labelledby="automatic-title"
    />
    <span class="t13">{text}</span>
  </span>
);

export const Automatic = ({ path, options: { offered, perCent }, set, typed }: AutomaticProps) => {
  const { language, t, unit } = useAround();
  const amount = (money: number) => fullAmount(language, unit, money * perCent);
  const [least = 0, usual = 0] = offered;
  const shown = set
    ? { threshold: set.threshold, amount: set.money * perCent, ceiling: set.ceiling * perCent }
    : { threshold: least, amount: usual, ceiling: 4 * usual };
  return (
    <section class="card" aria-labelledby="automatic-title">
      <header>
        <h2 id="automatic-title">{t("billing_automatic")}</h2>
        {set ? (
          <form method="post" action={path} class="push">
            <Switch value="off" isOn text={t(set.pausedFor || !set.methodId ? "billing_waiting" : "billing_on")} />
          </form>
        ) : (
          <div class="push">
            <Switch value="save" form={formId} text={t("billing_off")} />
          </div>
        )}
      </header>
      {set?.pausedFor && <Note tone="warn">{t(set.pausedFor === "disputed" ? "billing_paused_disputed" : "billing_paused_declined")}</Note>}
      {set && !set.methodId && <Note tone="warn">{t("billing_no_card")}</Note>}
      <form method="post" action={path} class="stack" id={formId}>
        <p class="meta">{set ? t("billing_never_more", { ceiling: amount(set.ceiling) }) : t("billing_automatic_lead")}</p>
        <div class="cols four">
          {fields.map((name) => (
            <TextField
              name={name}
              label={t(labels[name])}
              opt={unit}
              value={typed?.values[name] ?? decimal(shown[name])}
              error={typed?.problems[name]}
              inputmode="decimal"
              autocomplete="off"
              maxlength={20}
              required
            />
          ))}
          {set && (
            <Taken
              taken={set.taken}
              ceiling={set.ceiling}
              text={t("billing_taken", { taken: amount(set.taken), ceiling: amount(set.ceiling) })}
            />
          )}
        </div>
        {set?.methodId && (
          <p class="meta" hx-get={path.replace(/top-up$/, "card")} hx-trigger="load">
            {t("billing_card_stored")}
          </p>
        )}
        {set && (
          <p class="row">
            <Button class="btn" name="do" value="save" text={t("save")} />
            <Button class="btn ghost" name="do" value="card" text={t("billing_another_card")} />
          </p>
        )}
      </form>
    </section>
  );
};
