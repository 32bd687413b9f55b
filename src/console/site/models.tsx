/** The public model pages: the list with prices, and each model with its fields, programs and a sample. */

import type { ConsoleContext } from "../context.ts";
import { ActionSection, otherActions } from "../models/page.tsx";
import { ModelFacts } from "../models/facts.tsx";
import { listPrices } from "../models/prices.ts";
import { shownModels } from "./catalog.ts";
import { docsPage } from "./docs-page.tsx";
import { PriceTable } from "./price-table.tsx";
import { Sample } from "./sample.tsx";

/** Answers the list of models. */
export async function modelList(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const choices = await shownModels(c);
  return docsPage(c, {
    title: t("models"),
    description: t("models_lead"),
    group: t("models"),
    isTranslated: true,
    sections: [],
    children: (
      <>
        <h1>{t("models")}</h1>
        <p>{t("models_lead")}</p>
        {choices.length === 0 ? <p>{t("no_models")}</p> : <PriceTable c={c} choices={choices} />}
      </>
    ),
  });
}

/** Answers the page of one model by its name or alias; undefined if the model is not available. */
export async function modelPage(c: ConsoleContext, name: string): Promise<Response | undefined> {
  const { t } = c.var;
  const choices = await shownModels(c);
  const choice = choices.find(({ id, model, aliases }) => id === model && (id === name || aliases.includes(name)));
  if (!choice) return undefined;
  const actions = [choice, ...otherActions(choices, choice.model)];
  return docsPage(c, {
    title: choice.model,
    description: `${choice.model}: ${listPrices(c, choice)
      .map(([what, amount]) => `${what} ${amount}`)
      .join(", ")}`,
    group: t("models"),
    isTranslated: true,
    sections: [],
    children: (
      <>
        <h1>{choice.model}</h1>
        <Sample c={c} choice={choice} />
        <ModelFacts c={c} choice={choice} />
        {actions.map((action) => (
          <ActionSection c={c} choice={action} />
        ))}
      </>
    ),
  });
}
