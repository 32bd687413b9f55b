/** `/console/search` and `/docs/search`: one field over documentation, pages, own things and actions. The palette asks for the list alone. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { page, part, signedIn, withCatalog } from "../frame.tsx";
import { Button } from "../parts/button.tsx";
import { publicPage } from "../site/layout.tsx";
import { searchDocs } from "./docs.ts";
import { type HitGroup, Hits } from "./hits.tsx";
import { searchActions, searchOwn, searchPages } from "./own.ts";

const maxQuery = 200;
/** Of the documentation: in the palette, where other groups follow, and on its own page. */
const maxDocs = { palette: { guide: 4, reference: 3 }, page: { guide: 25, reference: 25 } };

/** The palette searches while a user types: only what is newest. */
const depths = { palette: { batches: 20, lists: 1 }, page: { batches: 100, lists: 5 } };

const isPalette = (c: ConsoleContext) => c.req.header("x-palette") !== undefined;
const readText = (c: ConsoleContext) => (c.req.query("q") ?? "").trim().slice(0, maxQuery);

const docsGroup = (c: ConsoleContext, query: string): HitGroup => ({
  title: c.var.t("docs"),
  hits: query === "" ? [] : searchDocs(query, isPalette(c) ? maxDocs.palette : maxDocs.page),
});

const Field = ({ c, action, query }: { c: ConsoleContext; action: string; query: string }) => {
  const { t } = c.var;
  return (
    <search>
      <form action={action} class="row search-row">
        <input class="in" type="search" name="q" value={query} maxlength={maxQuery} aria-label={t("search")} autofocus data-slash />
        <Button class="btn primary" icon="search" text={t("search")} />
      </form>
    </search>
  );
};

async function searchAll(c: ConsoleContext) {
  const { t } = c.var;
  const query = readText(c);
  // Without a word the palette offers the pages and actions.
  const groups = [
    { title: t("search_pages"), hits: searchPages(c, query) },
    docsGroup(c, query),
    { title: t("search_own"), hits: query === "" ? [] : await searchOwn(c, query, isPalette(c) ? depths.palette : depths.page) },
    { title: t("search_do"), hits: searchActions(c, query) },
  ];
  if (isPalette(c)) return part(c, <Hits groups={groups} query={query} />);
  return page(
    c,
    t("search"),
    <>
      <Field c={c} action="/console/search" query={query} />
      <section>
        <Hits groups={groups} query={query} />
      </section>
    </>,
    200,
    { width: "slim" },
  );
}

/** For everyone: the documentation alone. */
export function docsSearchPage(c: ConsoleContext) {
  const { t } = c.var;
  const query = readText(c);
  const groups = [docsGroup(c, query)];
  if (isPalette(c)) return part(c, <Hits groups={groups} query={query} />);
  return publicPage(c, {
    title: t("search"),
    description: t("search_docs"),
    children: (
      <main id="main" class="page slim">
        <div class="head">
          <h1>{t("search_docs")}</h1>
        </div>
        <Field c={c} action="/docs/search" query={query} />
        <section>
          <Hits groups={groups} query={query} />
        </section>
      </main>
    ),
  });
}

export const search = new Hono<ConsoleEnvironment>().use(withCatalog).use(signedIn).get("/", searchAll);
