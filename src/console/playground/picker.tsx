/** The choice of models: the kind, the model with its price and typical duration, and other models to compare it with. */

import type { Action } from "../../catalog/models.ts";
import type { OwnPrice } from "../../catalog/own-price.ts";
import { fromUnits } from "../../db/ledger.ts";
import { roundedAmount } from "../amounts.ts";
import type { Translate } from "../messages.ts";
import { usualTime } from "../models/prices.ts";
import { Button, Icon, kindIcons, useAround } from "../parts/index.ts";
import { type Choice, groups } from "./choices.ts";

/** The maximum number of models: one, and three to compare it with. */
export const maxCompared = 4;

const tabs = ["image", "video", "chat", "file"] as const;
/** The tab of an action: characters and remixes belong to videos. */
const toTab = (action: Action) => (action === "character" || action === "remix" ? "video" : action);

/** The price of one task, image, second, character or million tokens, in one or two lines. */
function priceLines({ action, price, priceRule }: Choice, amount: (units: number | undefined) => string, t: Translate): string[] {
  if (priceRule) return ownPriceLines(priceRule, amount, t);
  switch (action) {
    case "image":
      return [amount(price["image"])];
    case "character":
      return [amount(price["character"])];
    case "chat":
      return [
        t("price_in", { price: amount(price["input_million_tokens"]) }),
        t("price_out", { price: amount(price["output_million_tokens"]) }),
      ];
    default:
      return [amount(price["second"]), t("price_a_second")];
  }
}

/** The price of an own input: the lowest one, if values of its fields change it. */
function ownPriceLines(rule: OwnPrice, amount: (units: number | undefined) => string, t: Translate): string[] {
  const { task, image, second, factors = {} } = rule;
  const all = Object.values(factors).map((values) => Object.values(values));
  const lowest = amount((task ?? image ?? second ?? 0) * all.reduce((product, values) => product * Math.min(...values), 1));
  const price = all.some((values) => new Set(values).size > 1) ? t("price_from", { price: lowest }) : lowest;
  return task !== undefined ? [price, t("price_a_task")] : image !== undefined ? [price] : [price, t("price_a_second")];
}

const Option = ({ choice, isChosen }: { choice: Choice; isChosen: boolean }) => {
  const { t, language, unit } = useAround();
  const lines = priceLines(choice, (units = 0) => roundedAmount(language, unit, fromUnits(units)), t);
  return (
    <option value={choice.id} selected={isChosen}>
      <span class="opt-m">
        <Icon name={kindIcons[choice.action]} />
        <span>
          <b>{choice.model}</b> <span class="meta num">{[choice.title, usualTime(t, choice)].filter(Boolean).join(" · ")}</span>
        </span>{" "}
        <span class="meta num end">
          {lines.map((line, at) => (
            <span class="line1">{at === 0 ? line : ` ${line}`}</span>
          ))}
        </span>
      </span>
    </option>
  );
};

/** The attributes with which a control loads the form of another model; typed values stay. */
const choosing = {
  "hx-post": "/console/playground",
  "hx-include": "#form :is(textarea, select, input:not([type=file])), [form=form]:is(input, textarea)",
  "hx-target": "#form",
  "hx-swap": "outerHTML",
  "hx-sync": "#play:replace",
} as const;

export const Picker = ({ choices, choice }: { choices: Choice[]; choice: Choice }) => {
  const { t } = useAround();
  return (
    <>
      <div class="seg full" role="group" aria-label={t("kind")}>
        {tabs
          .filter((kind) => kind !== "file" || choices.some(({ action }) => action === kind))
          .map((kind) => (
            <Button
              name="kind"
              value={kind}
              formnovalidate
              aria-current={toTab(choice.action) === kind ? "true" : undefined}
              {...choosing}
              hx-vals={JSON.stringify({ do: "choose", kind })}
              icon={kindIcons[kind]}
              text={t(`model_group_${kind}`)}
            />
          ))}
      </div>
      <div class="field">
        <label for="f-model">{t("model")}</label>
        <select class="in pick" id="f-model" name="model" {...choosing} hx-vals='{"do": "choose"}'>
          <button type="button">
            <selectedcontent></selectedcontent>
          </button>
          {groups.map((action) => {
            const members = choices.filter((one) => one.action === action);
            return members.length === 0 ? null : (
              <optgroup label={t(`model_group_${action}`)}>
                {members.map((one) => (
                  <Option choice={one} isChosen={one.id === choice.id} />
                ))}
              </optgroup>
            );
          })}
        </select>
        <noscript>
          <Button class="btn sm" name="do" value="choose" formnovalidate text={t("show_form")} />
        </noscript>
      </div>
    </>
  );
};

/** Other models for the same prompt. */
export const Compare = ({ choices, choice, others }: { choices: Choice[]; choice: Choice; others: string[] }) => {
  const { t, language, unit } = useAround();
  const rivals = choices.filter(({ action, id }) => action === choice.action && id !== choice.id);
  if (rivals.length === 0 || !["image", "video"].includes(choice.action)) return null;
  return (
    <details class="more" open={others.length > 0}>
      <summary>{t("compare")}</summary>
      <fieldset class="stack tight" data-most={maxCompared - 1}>
        <legend class="hint">{t("compare_hint", { most: maxCompared })}</legend>
        {rivals.map((one) => (
          <label class="check t13">
            <input type="checkbox" name="with" value={one.id} checked={others.includes(one.id)} />
            <span class="grow0 clip">{one.model}</span>
            <span class="meta num">
              {usualTime(t, one)} · {priceLines(one, (units = 0) => roundedAmount(language, unit, fromUnits(units)), t).join(" ")}
            </span>
          </label>
        ))}
      </fieldset>
    </details>
  );
};
