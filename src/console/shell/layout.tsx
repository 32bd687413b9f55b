/** The frame of every page: its head, and either the shell of signed-in users or the public layout. */

import type { Child } from "hono/jsx";
import type { Language, Translate } from "../messages.ts";
import { AroundContext, Button, Icon, Link, Money, useAround } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { Languages, type ShownMember, Sidebar } from "./sidebar.tsx";
import type { Theme } from "./theme.ts";

/** The layout of a page. */
export interface Arrangement {
  /** Shown to the right of the title. */
  actions?: Child;
  /** One sentence below the title. */
  lead?: Child;
  /** `slim` for steps and single forms, `bare` without padding and title. */
  width?: "slim" | "wide" | "bare";
  /** The title in the bar of phones, if it is shorter than the page's own. */
  bar?: string;
  /** A message about the last action, shown for some seconds. */
  toast?: string | undefined;
}

interface Page extends Arrangement {
  title: string;
  path: string;
  language: Language;
  t: Translate;
  theme: Theme;
  /** The signed-in user. */
  member: ShownMember | undefined;
  /** True for an answer to a form, which cannot be reloaded in another language. */
  isAnswer: boolean;
  children?: Child;
}

/** The title of the tab; in a part of a page, the script takes it over. */
export const Title = ({ title }: { title: string }) => <title>{`${title} · ${useAround().t("brand")}`}</title>;

const Head = ({ title }: { title: string }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <Title title={title} />
    <link rel="icon" href={hashedPath("gate.svg")} />
    <link rel="preload" href={hashedPath("inter.woff2")} as="font" type="font/woff2" crossorigin="anonymous" />
    <link rel="stylesheet" href={hashedPath("console.css")} />
    <script src={hashedPath("htmx.js")} defer />
    <script src={hashedPath("console.js")} type="module" />
  </head>
);

const PageHead = ({ title, actions, lead }: { title: string; actions: Child; lead: Child }) => (
  <div class="head">
    <h1>{title}</h1>
    {actions !== undefined && <div class="row push">{actions}</div>}
    {lead !== undefined && <p>{lead}</p>}
  </div>
);

/** Also carries the sentences that the script shows. */
export const Toasts = ({ toast }: { toast?: string | undefined }) => {
  const { t } = useAround();
  return (
    <div
      class="toasts"
      aria-live="polite"
      data-lost={t("connection_lost")}
      data-missing={t("field_missing")}
      data-email={t("field_email")}
      data-url={t("field_url")}
      data-minimum={t("field_short", { minimum: "#" })}
    >
      <div id="refused" />
      {toast !== undefined && (
        <div class="toast" data-toast>
          <Icon name="ok" />
          <span role="status">{toast}</span>
        </div>
      )}
    </div>
  );
};

const Shell = ({ member, ...page }: Page & { member: ShownMember }) => {
  const { title, t, path, theme, isAnswer, actions, lead, width, bar, toast, children } = page;
  return (
    <body class="app">
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <Sidebar path={path} member={member} theme={theme} isAnswer={isAnswer} />
      <div>
        <header class="top">
          <Button class="btn ghost icon" popovertarget="side" aria-label={t("menu")} type="button" icon="menu" />
          <b class="clip" aria-hidden="true">
            {bar ?? title}
          </b>
          <a class="btn ghost sm num" href="/console/usage">
            <span class="vh">{t("balance")}</span>
            <span id="balance-top">
              <Money millionths={member.remaining} />
            </span>
          </a>
        </header>
        <main id="main">
          {width === "bare" ? (
            children
          ) : (
            <div class={width ? `page ${width}` : "page"}>
              <PageHead title={title} actions={actions} lead={lead} />
              {children}
            </div>
          )}
        </main>
      </div>
      <Toasts toast={toast} />
    </body>
  );
};

/** For visitors: the page on the left, an image on the right. */
const Gate = ({ title, lead, language, t, isAnswer, toast, children }: Page) => (
  <body>
    <main class="gate" id="main">
      <div>
        <Link class="brand flat" href="/" icon="gate" text={t("brand")} />
        <div class="stack">
          <div>
            <h1>{title}</h1>
            {lead !== undefined && <p class="muted">{lead}</p>}
          </div>
          {children}
        </div>
        <Languages class="row meta" language={language} t={t} isAnswer={isAnswer} />
      </div>
      <figure>
        <img src={hashedPath("art.svg")} alt="" />
      </figure>
    </main>
    <Toasts toast={toast} />
  </body>
);

export const Layout = (page: Page) => {
  const { language, t, theme, title, member } = page;
  return (
    <html lang={language} data-theme={theme === "system" ? undefined : theme}>
      <AroundContext.Provider value={{ language, t, unit: member?.unit ?? "USD" }}>
        <Head title={title} />
        {member ? <Shell {...page} member={member} /> : <Gate {...page} />}
      </AroundContext.Provider>
    </html>
  );
};
