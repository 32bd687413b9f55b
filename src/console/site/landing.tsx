/** The landing page: one sentence, sample outputs, the request for them, and prices. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { Icon } from "../parts/icon.tsx";
import { Pill } from "../parts/status.tsx";
import type { Choice } from "../playground/choices.ts";
import { hashedPath } from "../static-files.ts";
import { shownModels } from "./catalog.ts";
import { landingSample } from "./docs.ts";
import { Html } from "./html.tsx";
import { AccountButton, publicPage } from "./layout.tsx";
import { PriceTable } from "./price-table.tsx";
import { Video } from "./video.tsx";

/** The size of each image of the wall: tall, wide or plain. */
const tiles = ["t", "w", "t", "", "", "w", "", "", "", ""];

const Lead = ({ c }: { c: ConsoleContext }) => (
  <section class="lead">
    <h1>{c.var.t("site_title")}</h1>
    <p>{c.var.t("site_lead")}</p>
    <div class="row">
      <AccountButton c={c} />
      <a class="btn" href="/docs">
        {c.var.t("read_docs")}
      </a>
    </div>
  </section>
);

const Wall = ({ c }: { c: ConsoleContext }) => (
  <section class="band top0" aria-label={c.var.t("site_wall")}>
    <ul class="samples">
      <li class="b">
        <Video c={c} />
      </li>
      {tiles.map((size, at) => (
        <li class={size}>
          <img src={hashedPath(`wall-${at + 1}.webp`)} alt="" loading="lazy" />
        </li>
      ))}
    </ul>
    <p class="meta pt">{c.var.t("site_sandbox")}</p>
  </section>
);

/** The price of this many images of a model; empty if the model is not available. */
const formatCost = (c: ConsoleContext, choices: Choice[], model: string, count: number) => {
  const units = choices.find(({ id }) => id === model)?.price["image"];
  return units === undefined ? "" : ` · ${formatAmount(c, Math.round(units * count * 1e6))}`;
};

const Demo = ({ c, choices }: { c: ConsoleContext; choices: Choice[] }) => {
  const { t } = c.var;
  return (
    <section class="band">
      <h2>{t("site_steps")}</h2>
      <p>{t("site_steps_lead")}</p>
      <div class="demo">
        <Html html={landingSample(c)} />
        <div class="stack tight">
          <ul>
            {[1, 2, 3, 4].map((at) => (
              <li>
                <img src={hashedPath(`lighthouse-${at}.webp`)} alt="A lighthouse at dawn" width={680} height={389} loading="lazy" />
              </li>
            ))}
          </ul>
          <p class="row">
            <Pill icon="ok" tone="good" text={t("completed")} />
            <span class="meta num">{t("site_made_images") + formatCost(c, choices, "imgA-4", 4)}</span>
          </p>
        </div>
      </div>
    </section>
  );
};

const reasons = [
  ["shield", "site_lost"],
  ["bars", "site_money"],
  ["again", "site_routes"],
  ["globe", "site_languages"],
] as const;

const Reasons = ({ c }: { c: ConsoleContext }) => (
  <section class="band">
    <h2>{c.var.t("site_alone")}</h2>
    <div class="cols four pt">
      {reasons.map(([icon, name]) => (
        <div class="card">
          <Icon name={icon} />
          <h3 class="pt">{c.var.t(name)}</h3>
          <p class="muted">{c.var.t(`${name}_text`)}</p>
        </div>
      ))}
    </div>
  </section>
);

/** Answers the landing page. */
export async function landing(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const choices = await shownModels(c);
  return publicPage(c, {
    title: t("site_title"),
    description: t("site_description"),
    children: (
      <main id="main">
        <Lead c={c} />
        <Wall c={c} />
        <Demo c={c} choices={choices} />
        <Reasons c={c} />
        {choices.length > 0 && (
          <section class="band" id="prices">
            <h2>{t("prices")}</h2>
            <p>{t("site_prices_lead")}</p>
            <PriceTable c={c} choices={choices} />
          </section>
        )}
      </main>
    ),
  });
}
