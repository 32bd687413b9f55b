/** A table of models and prices. */

import type { ConsoleContext } from "../context.ts";
import { listPrices, usualTime } from "../models/prices.ts";
import { Filled } from "../parts/filled.tsx";
import { Table } from "../parts/table.tsx";
import type { Choice } from "../playground/choices.ts";

/** Every available model with its prices. */
export const PriceTable = ({ c, choices }: { c: ConsoleContext; choices: Choice[] }) => {
  const { t } = c.var;
  return (
    <Table
      label={t("prices")}
      class="fields"
      columns={[t("model"), { name: t("kind"), isExtra: true }, t("site_price"), { name: t("usual_time"), isNumber: true, isExtra: true }]}
    >
      {choices
        .filter(({ id, model }) => id === model)
        .map((choice) => (
          <tr>
            <th scope="row">
              <a class="plain" href={`/docs/models/${choice.model}`}>
                {choice.model}
              </a>
            </th>
            <td class="hide-s">{t(`model_group_${choice.action}`)}</td>
            <td class="wrap prices">
              {listPrices(c, choice).map(([name, amount]) => (
                <span class="num">
                  <Filled message="amount_of" by={{ amount, unit: <span class="muted">{name}</span> }} />
                </span>
              ))}
            </td>
            <td class="num hide-s">{usualTime(t, choice)}</td>
          </tr>
        ))}
    </Table>
  );
};
