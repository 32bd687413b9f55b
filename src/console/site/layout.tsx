/** The frame of the public pages: head, navigation bar, footer with the languages. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { getCookie } from "hono/cookie";
import { AroundContext, Icon, Link } from "../parts/index.ts";
import { Find } from "../search/find.tsx";
import { balanceUnit, signup } from "../settings.ts";
import { Toasts } from "../shell/layout.tsx";
import { Languages } from "../shell/sidebar.tsx";
import { themeCookie, parseTheme } from "../shell/theme.ts";
import { hashedPath } from "../static-files.ts";
import type { PageStatus } from "../page-status.ts";

interface PublicPage {
  title: string;
  /** One sentence for search engines and previews. */
  description: string;
  /** The URL of the same page as Markdown. */
  markdown?: string;
  /** The page's own script, by its plain name. */
  script?: string;
  /** The page's largest image, by its plain name: browsers load it first. */
  picture?: string;
  children?: Child;
}

/** The tags of a page for previews on other sites, and its address without query. */
const Preview = ({ title, description, url }: { title: string; description: string; url: URL }) => {
  const at = (path: string) => new URL(path, url).href;
  return (
    <>
      <link rel="canonical" href={at(url.pathname)} />
      <meta property="og:type" content="website" />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta property="og:url" content={at(url.pathname)} />
      <meta property="og:image" content={at(hashedPath("card.png"))} />
      <meta property="og:image:width" content="1200" />
      <meta property="og:image:height" content="630" />
      <meta name="twitter:card" content="summary_large_image" />
    </>
  );
};

const Head = ({ title, description, markdown, script, picture, brand, url }: PublicPage & { brand: string; url: URL }) => (
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{`${title} · ${brand}`}</title>
    <meta name="description" content={description} />
    <Preview title={title} description={description} url={url} />
    <link rel="icon" href="/favicon.svg" />
    <link rel="apple-touch-icon" href={hashedPath("touch.png")} sizes="180x180" />
    {markdown !== undefined && <link rel="alternate" type="text/markdown" href={markdown} />}
    <link rel="preload" href={hashedPath("inter.woff2")} as="font" type="font/woff2" crossorigin="anonymous" />
    <link rel="preload" href={hashedPath("geist-mono.woff2")} as="font" type="font/woff2" crossorigin="anonymous" />
    {picture !== undefined && <link rel="preload" href={hashedPath(picture)} as="image" fetchpriority="high" />}
    <link rel="stylesheet" href={hashedPath("console.css")} />
    <script src={hashedPath("console.js")} type="module" />
    {script !== undefined && <script src={hashedPath(script)} type="module" />}
  </head>
);

/** The pages that the bar leads to. */
const Places = ({ c }: { c: ConsoleContext }) => {
  const { t } = c.var;
  return (
    <>
      <a href="/docs">{t("docs")}</a>
      <a href="/docs/models">{t("models")}</a>
      <a href={c.req.path === "/" ? "#prices" : "/#prices"}>{t("prices")}</a>
      <a href="/verify">{t("verify_nav")}</a>
    </>
  );
};

const SignIn = ({ c, class: name }: { c: ConsoleContext; class?: string }) =>
  c.var.user === undefined ? (
    <a class={name} href="/console/sign-in">
      {c.var.t("sign_in")}
    </a>
  ) : null;

const Bar = ({ c }: { c: ConsoleContext }) => {
  const { t } = c.var;
  return (
    <header class="pub">
      <Link class="brand" href="/" icon="gate" text={t("brand")} />
      <nav aria-label={t("site_nav")}>
        <Places c={c} />
      </nav>
      <div class="row push">
        <Find href={c.var.user === undefined ? "/docs/search" : "/console/search"} text={t("search_docs")} />
        <SignIn c={c} class="btn ghost hide-s" />
        <AccountButton c={c} />
        <details class="pub-menu">
          <summary class="btn ghost icon" aria-label={t("menu")}>
            <Icon name="menu" />
          </summary>
          <nav class="nav" aria-label={t("menu")}>
            <Places c={c} />
            <SignIn c={c} />
          </nav>
        </details>
      </div>
    </header>
  );
};

/** Leads to the console for signed-in users, and where sign-up is not open. */
export const AccountButton = ({ c }: { c: ConsoleContext }) => {
  const isSignUp = c.var.user === undefined && signup(c.env) === "open";
  return (
    <Link
      class="btn primary"
      href={isSignUp ? "/console/sign-up" : "/console"}
      text={c.var.t(isSignUp ? "create_account" : "console_link")}
    />
  );
};

/** Answers a whole public page. It depends on language, theme and deployment, so browsers must revalidate it. */
export function publicPage(c: ConsoleContext, page: PublicPage, status: PageStatus = 200): Response | Promise<Response> {
  const { t, language } = c.var;
  const theme = parseTheme(getCookie(c, themeCookie));
  const html = (
    <html lang={language} data-theme={theme === "system" ? undefined : theme}>
      <AroundContext.Provider value={{ language, t, unit: balanceUnit(c.env) }}>
        <Head {...page} brand={t("brand")} url={new URL(c.req.url)} />
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
          <Toasts />
        </body>
      </AroundContext.Provider>
    </html>
  );
  return c.html(`<!doctype html>${String(html)}`, status);
}
