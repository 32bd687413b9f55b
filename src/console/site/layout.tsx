/** The frame of the public pages: head, navigation bar, footer with the languages. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { getCookie } from "hono/cookie";
import { AroundContext } from "../parts/context.ts";
import { Icon } from "../parts/icon.tsx";
import { balanceUnit, signup } from "../settings.ts";
import { Languages } from "../shell/sidebar.tsx";
import { themeCookie, parseTheme } from "../shell/theme.ts";
import { hashedPath } from "../static-files.ts";

interface PublicPage {
  title: string;
  /** One sentence for search engines and previews. */
  description: string;
  /** The URL of the same page as Markdown. */
  markdown?: string;
  children?: Child;
}

const Head = ({ title, description, markdown, brand }: PublicPage & { brand: string }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{`${title} · ${brand}`}</title>
    <meta name="description" content={description} />
    <link rel="icon" href="/favicon.svg" />
    {markdown !== undefined && <link rel="alternate" type="text/markdown" href={markdown} />}
    <link rel="preload" href={hashedPath("inter.woff2")} as="font" type="font/woff2" crossorigin="anonymous" />
    <link rel="preload" href={hashedPath("geist-mono.woff2")} as="font" type="font/woff2" crossorigin="anonymous" />
    <link rel="stylesheet" href={hashedPath("console.css")} />
    <script src={hashedPath("console.js")} type="module" />
  </head>
);

const Bar = ({ c }: { c: ConsoleContext }) => {
  const { t } = c.var;
  return (
    <header class="pub">
      <a class="brand" href="/">
        <Icon name="gate" />
        {t("brand")}
      </a>
      <nav aria-label={t("site_nav")}>
        <a href="/docs">{t("docs")}</a>
        <a href="/docs/models">{t("models")}</a>
        <a class="hide-s" href="/verify">
          {t("verify_nav")}
        </a>
        {c.req.path === "/" && <a href="#prices">{t("prices")}</a>}
      </nav>
      <a class="btn ghost push" href="/console/sign-in">
        {t("sign_in")}
      </a>
      <AccountButton c={c} />
    </header>
  );
};

/** Links to the console where sign-up is not open. */
export const AccountButton = ({ c }: { c: ConsoleContext }) => (
  <a class="btn primary" href={signup(c.env) === "open" ? "/console/sign-up" : "/console"}>
    {c.var.t(signup(c.env) === "open" ? "create_account" : "console_link")}
  </a>
);

/** Answers a whole public page. It depends on language, theme and deployment, so browsers must revalidate it. */
export function publicPage(c: ConsoleContext, page: PublicPage, status: 200 | 404 = 200): Response | Promise<Response> {
  const { t, language } = c.var;
  const theme = parseTheme(getCookie(c, themeCookie));
  const html = (
    <html lang={language} data-theme={theme === "system" ? undefined : theme}>
      <AroundContext.Provider value={{ language, t, unit: balanceUnit(c.env) }}>
        <Head {...page} brand={t("brand")} />
        <body>
          <a class="skip" href="#main">
            {t("skip")}
          </a>
          <Bar c={c} />
          {page.children}
          <footer class="foot">
            <span>{t("brand")}</span>
            <a href="/docs">{t("docs")}</a>
            <a href="/docs/reference">{t("docs_reference")}</a>
            <a href="/status">{t("status_page")}</a>
            <a href="/verify">{t("verify_nav")}</a>
            <a href="/llms.txt">llms.txt</a>
            <Languages class="row push" language={language} t={t} isAnswer={false} />
          </footer>
          <div class="toasts" aria-live="polite" />
        </body>
      </AroundContext.Provider>
    </html>
  );
  return c.html(`<!doctype html>${String(html)}`, status);
}
