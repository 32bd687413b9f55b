/** The landing page: one sentence, a film, what happens when a provider fails, the deployment, the first request, and prices. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { Copy, Icon, Link, Pill } from "../parts/index.ts";
import type { Choice } from "../playground/choices.ts";
import { hashedPath } from "../static-files.ts";
import { shownModels } from "./catalog.ts";
import { landingSample } from "./docs.ts";
import { Html } from "./html.tsx";
import { AccountButton, publicPage } from "./layout.tsx";
import { PriceTable } from "./price-table.tsx";
import { fromUnits } from "../../db/ledger.ts";

const Lead = ({ c }: { c: ConsoleContext }) => (
  <section class="lead">
    <h1>{c.var.t("site_title")}</h1>
    <p>{c.var.t("site_lead")}</p>
    <div class="row">
      <AccountButton c={c} />
      <Link class="btn" href="/docs" text={c.var.t("read_docs")} />
    </div>
  </section>
);

/** The still image is the page; `client/landing.js` plays the film in its place and shows the button instead of the link. */
const Film = ({ c }: { c: ConsoleContext }) => {
  const { t } = c.var;
  const film = hashedPath("hills.mp4");
  return (
    <div class="loop">
      <video
        data-film
        muted
        loop
        playsinline
        preload="none"
        width={1920}
        height={1080}
        poster={hashedPath("hills.webp")}
        src={film}
        aria-label={t("site_film")}
      />
      <p>{t("site_film_note")}</p>
      <Link class="btn icon" href={film} data-film-link aria-label={t("site_film_play")} icon="play" />
      <button
        class="btn icon"
        type="button"
        hidden
        data-film-button
        aria-label={t("site_film_play")}
        data-play={t("site_film_play")}
        data-pause={t("site_film_pause")}
      >
        <Icon name="play" />
        <Icon name="pause" />
      </button>
    </div>
  );
};

/** The price of some units of a model; undefined if the model is not available. */
const formatCost = (c: ConsoleContext, choices: Choice[], model: string, unit: string, count: number): string | undefined => {
  const price = choices.find(({ id }) => id === model)?.price[unit];
  return price === undefined ? undefined : formatAmount(c, fromUnits(price * count));
};

/** The steps of the rescue: name of their texts, seconds since the request, look of the image, pill and progress in per cent. */
const rescue = [
  { name: "site_ask", second: 0, look: "soon", icon: "spin", tone: "run", progress: 8 },
  { name: "site_stop", second: 16, look: "soon dead", icon: "bad", tone: "bad", progress: 24 },
  { name: "site_next", second: 17, look: "soft", icon: "again", tone: "warn", progress: 61 },
  { name: "site_done", second: 62, look: undefined, icon: "ok", tone: "good", progress: 100 },
] as const;

/** The video of the rescue. */
const rescued = { model: "vidB-3.1-fast", seconds: 8 };

const Rescue = ({ c, choices }: { c: ConsoleContext; choices: Choice[] }) => {
  const { t } = c.var;
  const amount = formatCost(c, choices, rescued.model, "second", rescued.seconds);
  return (
    <section class="band">
      <h2>{t("site_rescue")}</h2>
      <p>{t("site_rescue_lead")}</p>
      <ol class="story">
        {rescue.map(({ name, second, look, icon, tone, progress }) => (
          <li>
            <figure class={look}>
              <img src={hashedPath("wall-2.webp")} alt="" width={736} height={296} loading="lazy" />
              <Pill icon={icon} tone={tone} text={t(`${name}_pill`)} />
              <figcaption>
                <progress max={100} value={progress} aria-label={t(`${name}_pill`)} />
              </figcaption>
            </figure>
            <span class="num">{t("length_seconds", { seconds: second })}</span>
            <b>{t(name)}</b>
            <p>{t(`${name}_text`)}</p>
          </li>
        ))}
      </ol>
      <div class="sum">
        {amount !== undefined && (
          <>
            <dl>
              <dt>{t("usage_charged")}</dt>
              <dd class="num">{t("site_charged_once", { amount })}</dd>
            </dl>
            <dl>
              <dt>{t("site_failed_attempt")}</dt>
              <dd class="num">{formatAmount(c, 0)}</dd>
            </dl>
          </>
        )}
        <dl>
          <dt>{t("site_requests")}</dt>
          <dd class="num">1</dd>
        </dl>
        <Link class="btn sm" href="/docs/tasks" text={t("site_rescue_link")} />
      </div>
    </section>
  );
};

/** The two commands, and what the second one prints. */
const commands = "npx wrangler login\nnpm run deploy";

/** Shortened: the queues, secrets and other Workers have lines of their own. */
const printed = [
  "plan: Workers Paid (0.6 s)",
  "what is there: nothing yet (2.3 s)",
  "create the database gateway (1.8 s)",
  "create the bucket gateway-assets (1.2 s)",
  "deploy gateway (5.4 s)",
  "wait for https://gateway.example/readyz (3.2 s)",
  "smoke test (4.1 s)",
];

const Own = ({ c }: { c: ConsoleContext }) => {
  const { t } = c.var;
  return (
    <section class="band own">
      <div>
        <h2>{t("site_own")}</h2>
        <p>{t("site_own_lead")}</p>
        <ul class="ticks">
          {([1, 2, 3, 4] as const).map((at) => (
            <li>
              <Icon name="ok" />
              {t(`site_own_${at}`)}
            </li>
          ))}
        </ul>
      </div>
      <div class="code">
        <header>
          <span class="meta grow0">{t("site_terminal")}</span>
          <Copy of="deployment" label={`${t("copy")}: ${t("site_terminal_name")}`} />
        </header>
        <pre tabindex={0} aria-label={t("site_terminal_name")} lang="en">
          <code id="deployment" class="prompt">
            {commands.split("\n").map((command, at) => (
              <>
                {at > 0 && "\n"}
                <span>{command}</span>
              </>
            ))}
          </code>
          <samp>
            {printed.map((line) => (
              <>
                {"\n  "}
                <span class="s">✓</span> {line}
              </>
            ))}
            {"\n\n"}gateway is up at <span class="k">{new URL(c.req.url).origin}</span>
          </samp>
        </pre>
      </div>
    </section>
  );
};

const FirstRequest = ({ c, choices }: { c: ConsoleContext; choices: Choice[] }) => {
  const { t } = c.var;
  const cost = formatCost(c, choices, "imgA-4", "image", 1);
  return (
    <section class="band">
      <h2>{t("site_code")}</h2>
      <p>{t("site_code_lead")}</p>
      <div class="demo">
        <Html html={landingSample(c)} />
        <div class="stack tight">
          <img src={hashedPath("lighthouse-1.webp")} alt="A lighthouse at dawn" width={680} height={389} loading="lazy" />
          <p class="row">
            <Pill icon="ok" tone="good" text={t("completed")} />
            <span class="meta num">{[t("site_made_image"), cost].filter((part) => part !== undefined).join(" · ")}</span>
          </p>
        </div>
      </div>
    </section>
  );
};

/** Answers the landing page. */
export async function landing(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const choices = await shownModels(c);
  return publicPage(c, {
    title: t("site_title"),
    description: t("site_description"),
    script: "landing.js",
    picture: "hills.webp",
    children: (
      <main id="main">
        <Lead c={c} />
        <Film c={c} />
        <Rescue c={c} choices={choices} />
        <Own c={c} />
        <FirstRequest c={c} choices={choices} />
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
