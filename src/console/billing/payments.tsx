/** The payments of an account, with what was refunded or disputed of them and the link to the receipt. */

import { decimal } from "../amounts.ts";
import type { ListedPayment } from "../../db/payments.ts";
import { useAround } from "../parts/context.ts";
import { Icon } from "../parts/icon.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { Money } from "../parts/money.tsx";
import { Pill } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";

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
  if (payments.length === 0) return <p class="muted">{t("billing_no_payments")}</p>;
  const price = (money: number, currency: string) =>
    (money / 100).toLocaleString(language, { style: "currency", currency, currencyDisplay: "narrowSymbol" });
  return (
    <Table
      label={t("billing_payments")}
      columns={[
        t("billing_date"),
        { name: t("billing_what"), isExtra: true },
        t("billing_state"),
        { name: t("billing_paid_money"), isNumber: true },
        { name: t("billing_added"), isNumber: true, isExtra: true },
        ...(receiptPath === undefined ? [] : [{ name: t("task_receipt"), isNumber: true }]),
      ]}
    >
      {payments.map((payment) => {
        const { icon, tone, word } = look(payment);
        return (
          <tr>
            <th scope="row">
              <DateTime ms={payment.createdAt} />
            </th>
            <td class="wrap grow hide-s">
              {t(payment.automatic === 1 ? "billing_automatic" : "billing_top_up")}
              {payment.card && <span class="meta path">{payment.card}</span>}
            </td>
            <td>
              <Pill icon={icon} tone={tone} text={t(word, { amount: price(payment.refunded, payment.currency) })} />
            </td>
            <td class="num">{price(payment.money, payment.currency)}</td>
            <td class="num hide-s">
              <Money millionths={payment.amount} />
            </td>
            {receiptPath !== undefined && (
              <td class="num">
                <a
                  class="btn ghost sm"
                  href={`${receiptPath}/${payment.id}`}
                  aria-label={`${t("task_receipt")}: ${price(payment.money, payment.currency)}`}
                >
                  <Icon name="out" />
                  <span class="hide-s">{t("task_receipt")}</span>
                </a>
              </td>
            )}
          </tr>
        );
      })}
    </Table>
  );
};
