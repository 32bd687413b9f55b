/** A table of models and prices. */

import type { ConsoleContext } from "../context.ts";
import { listPrices, usualTime } from "../models/prices.ts";
import { DataTable, Filled } from "../parts/index.ts";
import type { Choice } from "../playground/choices.ts";

/** Every available model with its prices. */
export const PriceTable = ({ c, choices }: { c: ConsoleContext; choices: Choice[] }) => {
  const { t } = c.var;
  return (
    <DataTable
      label={t("prices")}
      class="fields"
      rows={choices.filter(({ id, model }) => id === model)}
      columns={[
        {
          name: t("model"),
          cell: ({ model }) => (
            <a class="plain" href={`/docs/models/${model}`}>
              {model}
            </a>
          ),
        },
        { name: t("kind"), isExtra: true, cell: ({ action }) => t(`model_group_${action}`) },
        {
          name: t("price"),
          class: "wrap prices",
          cell: (choice) =>
            listPrices(c, choice).map(([name, amount]) => (
              <span class="num">
                <Filled message="amount_of" by={{ amount, unit: <span class="muted">{name}</span> }} />
              </span>
            )),
        },
        { name: t("usual_time"), isNumber: true, isExtra: true, cell: (choice) => usualTime(t, choice) },
      ]}
    />
  );
};
