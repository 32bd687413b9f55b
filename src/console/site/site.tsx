/** The public pages: landing page, documentation, models, reference, and pages for programs. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono, type MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import gate from "../files/gate.svg";
import { docsSearchPage } from "../search/pages.tsx";
import { languageCookie, recognize } from "../frame.tsx";
import { chooseLanguage, translator } from "../messages.ts";
import { describeApi } from "./description.ts";
import { moved } from "./contents.ts";
import { docNamed } from "./docs.ts";
import { docsPage, writtenPage } from "./docs-page.tsx";
import { landing } from "./landing.tsx";
import { modelList, modelPage } from "./models.tsx";
import { operationPage, referenceIndex, referencePage } from "./reference.tsx";
import { showStatus } from "./status.tsx";
import { verifyPage } from "./verify.tsx";
import { llmsText, markdownPage, robotsText } from "./plain.ts";

/** Sets the language: `?language=`, else the choice at the foot of the pages, else the browser's. Reads who is signed in. Pages depend on all that, on theme and deployment, so browsers must revalidate them. */
const publicFrame: MiddlewareHandler<ConsoleEnvironment> = async (c, next) => {
  const language = chooseLanguage(c.req.query("language") ?? getCookie(c, languageCookie), c.req.header("accept-language"));
  c.set("language", language);
  c.set("t", translator(language));
  await recognize(c);
  await next();
  c.header("cache-control", c.var.user === undefined ? "no-cache" : "private, no-cache");
  c.header("vary", "Accept, Accept-Language, Cookie");
};

const missing = (c: ConsoleContext) =>
  docsPage(
    c,
    {
      title: c.var.t("not_found"),
      description: c.var.t("not_found"),
      group: c.var.t("docs"),
      isTranslated: true,
      sections: [],
      children: (
        <>
          <h1>{c.var.t("not_found")}</h1>
          <p>{c.var.t("not_found_hint")}</p>
        </>
      ),
    },
    404,
  );

/** A page of the documentation by its name; with `.md` its Markdown. */
function written(c: ConsoleContext): Response | Promise<Response> {
  const name = c.req.path.slice("/docs/".length) || "index";
  if (name.endsWith(".md")) return markdownPage(c, name.slice(0, -".md".length)) ?? elsewhere(c);
  const doc = c.req.path === "/docs/index" ? undefined : docNamed(c, name);
  return doc ? writtenPage(c, doc) : elsewhere(c);
}

/** A path with a trailing slash is the same page, and pages have moved. */
function elsewhere(c: ConsoleContext): Response | Promise<Response> {
  const { pathname, search } = new URL(c.req.url);
  const [, path = "", markdown = ""] = /^(.*?)(\.md)?\/*$/.exec(pathname) ?? [];
  const to = (moved[path] ?? path) + markdown;
  return to === pathname ? missing(c) : c.redirect(to + search, 301);
}

export const site = new Hono<ConsoleEnvironment>()
  .get("/", publicFrame, landing)
  .get("/favicon.svg", (c) => c.body(gate, 200, { "content-type": "image/svg+xml", "cache-control": "public, max-age=86400" }))
  .get("/robots.txt", robotsText)
  .get("/llms.txt", llmsText)
  .get("/openapi.json", (c) => describeApi(c.req.raw))
  .get("/status", publicFrame, showStatus)
  .get("/verify", publicFrame, verifyPage)
  .get("/docs/*", publicFrame)
  .get("/docs", written)
  .get("/docs/search", docsSearchPage)
  .get("/docs/models", modelList)
  .get("/docs/models/:model", async (c) => (await modelPage(c, c.req.param("model"))) ?? missing(c))
  .get("/docs/reference", referenceIndex)
  .get("/docs/reference/:tag", (c) => referencePage(c, c.req.param("tag")) ?? elsewhere(c))
  .get("/docs/reference/:tag/:id", async (c) => (await operationPage(c, c.req.param("tag"), c.req.param("id"))) ?? missing(c))
  .get("/docs/:name", written)
  .get("/docs/operate/:name", written)
  .get("/docs/*", elsewhere);
