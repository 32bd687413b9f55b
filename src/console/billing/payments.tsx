/** The payments of an account, with what was refunded or disputed of them and the link to the receipt. */

import { decimal } from "../amounts.ts";
import type { ListedPayment } from "../../db/payments.ts";
import { DataTable, DateTime, Icon, Money, Pill, useAround } from "../parts/index.ts";

/** What became of a payment; the last that happened counts. */
function look({ money, refunded, disputed }: ListedPayment) {
  if (disputed > 0) return { icon: "warn", tone: "warn", word: "billing_disputed" } as const;
  if (refunded > 0) return { icon: "again", tone: "", word: refunded < money ? "billing_refunded_part" : "billing_refunded" } as const;
  return { icon: "ok", tone: "good", word: "billing_paid" } as const;
}

/** Of the CSV file: money in whole units of its currency, the amount in balance units. */
export const paymentColumns = {
  date: ({ createdAt }: ListedPayment) => new Date(createdAt).toISOString(),
  id: ({ id }: ListedPayment) => id,
  what: ({ automatic }: ListedPayment) => (automatic === 1 ? "automatic_top_up" : "top_up"),
  card: ({ card }: ListedPayment) => card ?? "",
  paid: ({ money }: ListedPayment) => (money / 100).toFixed(2),
  currency: ({ currency }: ListedPayment) => currency,
  added: ({ amount }: ListedPayment) => decimal(amount),
  refunded: ({ refunded }: ListedPayment) => (refunded / 100).toFixed(2),
  disputed: ({ disputed }: ListedPayment) => (disputed / 100).toFixed(2),
  intent: ({ intentId }: ListedPayment) => intentId ?? "",
};

export const Payments = ({ payments, receiptPath }: { payments: ListedPayment[]; receiptPath: string | undefined }) => {
  const { language, t } = useAround();
  const price = (money: number, currency: string) =>
    (money / 100).toLocaleString(language, { style: "currency", currency, currencyDisplay: "narrowSymbol" });
  return (
    <DataTable
      label={t("billing_payments")}
      none={t("billing_no_payments")}
      rows={payments}
      columns={[
        { name: t("callback_when"), cell: ({ createdAt }) => <DateTime ms={createdAt} /> },
        {
          name: t("billing_what"),
          isExtra: true,
          class: "wrap grow",
          cell: ({ automatic, card }) => (
            <>
              {t(automatic === 1 ? "billing_automatic" : "billing_top_up")}
              {card && <span class="meta path">{card}</span>}
            </>
          ),
        },
        {
          name: t("state"),
          cell: (payment) => {
            const { word, ...shown } = look(payment);
            return <Pill {...shown} text={t(word, { amount: price(payment.refunded, payment.currency) })} />;
          },
        },
        { name: t("billing_paid_money"), isNumber: true, cell: ({ money, currency }) => price(money, currency) },
        { name: t("billing_added"), isNumber: true, isExtra: true, cell: ({ amount }) => <Money millionths={amount} /> },
        receiptPath !== undefined && {
          name: t("task_receipt"),
          isNumber: true,
          cell: ({ id, money, currency }) => (
            <a class="btn ghost sm" href={`${receiptPath}/${id}`} aria-label={`${t("task_receipt")}: ${price(money, currency)}`}>
              <Icon name="out" />
              <span class="hide-s">{t("task_receipt")}</span>
            </a>
          ),
        },
      ]}
    />
  );
};
