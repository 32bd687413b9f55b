/** The public model pages: the list with prices, and each model with its fields, programs and a sample. */

import type { ConsoleContext } from "../frame.tsx";
import { ActionSection, otherActions } from "../models/page.tsx";
import { listPrices } from "../models/prices.ts";
import { Facts } from "../parts/table.tsx";
import type { Choice } from "../playground/choices.ts";
import { hashedPath } from "../static-files.ts";
import { shownModels, typicalSeconds } from "./catalog.ts";
import { docsPage } from "./docs-page.tsx";
import { PriceTable } from "./price-table.tsx";
import { Video } from "./video.tsx";

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

/** The sandbox's sample of an image model. */
const images: Record<string, string> = {
  "imgA-4": "lighthouse-2.webp",
  "imgB-4o-image": "sample-imgB-4o-image.webp",
  "imgC-3-pro-image-preview": "sample-imgC-3-pro-image-preview.webp",
};

/** A sample of a model's output; nothing for text. */
const Sample = ({ c, choice }: { c: ConsoleContext; choice: Choice }) => {
  const image = images[choice.model];
  const shown =
    image !== undefined ? (
      <img src={hashedPath(image)} alt="" width={680} height={389} />
    ) : choice.action === "video" ? (
      <Video c={c} />
    ) : undefined;
  return shown === undefined ? null : (
    <figure class="sample">
      {shown}
      <figcaption class="meta">{c.var.t("site_sandbox")}</figcaption>
    </figure>
  );
};

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
        <div class="card">
          <Facts
            of={[
              [t("usual_time"), t("about_seconds", { seconds: typicalSeconds(choice) })],
              ...listPrices(c, choice),
              choice.aliases.length > 0 && [t("other_names"), choice.aliases.join(", ")],
            ]}
          />
        </div>
        {actions.map((action) => (
          <ActionSection c={c} choice={action} />
        ))}
      </>
    ),
  });
}
