/** The card with a model's usual time, prices and aliases, on the model's public page and in the console. */

import type { ConsoleContext } from "../context.ts";
import { Facts } from "../parts/table.tsx";
import type { Choice } from "../playground/choices.ts";
import { listPrices, usualTime } from "./prices.ts";

export const ModelFacts = ({ c, choice }: { c: ConsoleContext; choice: Choice }) => (
  <div class="card">
    <Facts
      of={[
        choice.title !== undefined && [c.var.t("admin_model_title"), choice.title],
        [c.var.t("usual_time"), usualTime(c.var.t, choice)],
        ...listPrices(c, choice),
        choice.aliases.length > 0 && [c.var.t("other_names"), choice.aliases.join(", ")],
      ]}
    />
  </div>
);
