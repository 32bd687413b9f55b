/** A page of the documentation: the contents on the left, the text, its headings on the right, and links to the next pages below. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { known } from "../../base/known.ts";
import { Icon, Link, Note } from "../parts/index.ts";
import { contents, docPath } from "./contents.ts";
import { editAddress, pageHead } from "./docs.ts";
import { Html } from "./html.tsx";
import { publicPage } from "./layout.tsx";
import type { Doc } from "./rendering.ts";
import { operationPath, operationsTagged, tagPath, tags, tagTitle } from "./openapi.ts";
import type { PageStatus } from "../page-status.ts";

interface Place {
  path: string;
  title: string;
  /** Of an operation. */
  method?: string;
}

interface Group {
  title: string;
  places: Place[];
}

/** Every page of the documentation in its group, in order. */
function groups(c: ConsoleContext): Group[] {
  const { t } = c.var;
  return [
    ...contents.map(({ name, pages }) => ({
      title: t(name),
      places: pages.map((page) => ({ path: docPath(page), title: pageHead(page).title })),
    })),
    { title: t("models"), places: [{ path: "/docs/models", title: t("models") }] },
    {
      title: t("docs_reference"),
      places: [
        { path: "/docs/reference", title: "API reference" },
        ...tags.flatMap(({ name }): Place[] => [
          { path: tagPath(name), title: tagTitle(name) },
          // Of the group that is open alone: all operations would be a page of their own.
          ...(c.req.path === tagPath(name) || c.req.path.startsWith(`${tagPath(name)}/`)
            ? operationsTagged(name).map(({ method, operation }) => ({
                path: operationPath(name, operation),
                title: operation.summary,
                method,
              }))
            : []),
        ]),
      ],
    },
  ];
}

/** Whether a place is the page that is shown, or the one above it. */
const isCurrent = (path: string, place: Place) =>
  path === place.path || (place.path === "/docs/models" && path.startsWith("/docs/models/"));

/** The titles of the pages are English, except the one of the models. */
const titleLanguage = (place: Place) => (place.path === "/docs/models" ? undefined : "en");

const Contents = ({ path, of }: { path: string; of: Group[] }) => (
  <>
    {of.map(({ title, places }) => (
      <>
        <h2>{title}</h2>
        <ul>
          {places.map((place) => (
            <li>
              <a
                href={place.path}
                class={place.method === undefined ? undefined : "op"}
                lang={titleLanguage(place)}
                aria-current={isCurrent(path, place) ? "page" : undefined}
              >
                {place.title}
                {place.method !== undefined && <span class="verb">{place.method === "webhook" ? "POST" : place.method}</span>}
              </a>
            </li>
          ))}
        </ul>
      </>
    ))}
  </>
);

const Pager = ({ c, previous, next }: { c: ConsoleContext; previous: Place | undefined; next: Place | undefined }) => (
  <nav class="pager" aria-label={c.var.t("docs_pages")}>
    {previous ? (
      <Link class="btn ghost" href={previous.path} rel="prev" lang={titleLanguage(previous)} icon="left" text={previous.title} />
    ) : (
      <span />
    )}
    {next && (
      <a class="btn ghost" href={next.path} rel="next" lang={titleLanguage(next)}>
        {next.title}
        <Icon name="right" />
      </a>
    )}
  </nav>
);

interface DocsPage extends Omit<Doc, "html" | "name"> {
  /** The name of its group, above the title. */
  group: string;
  /** False or absent: the page is shown in English. */
  isTranslated?: boolean;
  /** Address of the same page as Markdown. */
  markdown?: string;
  /** Address at which the page's file is edited. */
  edit?: string | undefined;
  /** What stands at the right in place of the headings. */
  aside?: Child;
  children?: Child;
}

/** Answers a page of the documentation. The text is English, whatever the language around it. */
export function docsPage(c: ConsoleContext, page: DocsPage, status: PageStatus = 200): Response | Promise<Response> {
  const { group, isTranslated, title, description, sections, markdown, edit, aside, children } = page;
  const { t } = c.var;
  const path = c.req.path;
  const all = groups(c);
  const places = all.flatMap((one) => one.places);
  const at = places.findIndex((place) => isCurrent(path, place));
  const frame = {
    title,
    description,
    ...(markdown !== undefined && { markdown }),
    children: (
      <div class={aside === undefined ? "docs" : "docs ref"}>
        <nav class="nav" aria-label={t("docs_nav")}>
          <Contents path={path} of={all} />
        </nav>
        <main id="main">
          <details class="menu-s">
            <summary>
              <Icon name="menu" />
              {t("docs_menu")}
            </summary>
            <nav class="nav" aria-label={t("docs_menu")}>
              <Contents path={path} of={all} />
            </nav>
          </details>
          {!isTranslated && c.var.language !== "en" && (
            <div class="only">
              <Note>{t("docs_english")}</Note>
            </div>
          )}
          <article lang={isTranslated ? undefined : "en"}>
            <p class="meta">{group}</p>
            {children}
          </article>
          <Pager c={c} previous={places[at - 1]} next={places[at + 1]} />
        </main>
        {aside === undefined ? (
          <nav class="nav" aria-label={t("docs_toc")}>
            {sections.length > 0 && <h2>{t("docs_toc")}</h2>}
            <ul>
              {sections.map(({ id, title }) => (
                <li>
                  <a href={`#${id}`}>{title}</a>
                </li>
              ))}
            </ul>
            {markdown !== undefined && <Link class="quiet" href={markdown} icon="list" text={t("docs_as_markdown")} />}
            {edit !== undefined && <Link class="quiet" href={edit} icon="pen" text={t("docs_edit")} />}
          </nav>
        ) : (
          <aside class="aside" aria-label={t("docs_samples")}>
            {aside}
          </aside>
        )}
      </div>
    ),
  };
  return publicPage(c, frame, status);
}

/** The group of each page. */
const groupNames = new Map(contents.flatMap(({ name, pages }) => pages.map((page): [string, typeof name] => [page, name])));

/** Answers a page that was written in Markdown. */
export function writtenPage(c: ConsoleContext, doc: Doc) {
  return docsPage(c, {
    ...doc,
    group: c.var.t(known(groupNames, doc.name)),
    markdown: `/docs/${doc.name}.md`,
    edit: editAddress(c, doc.name),
    children: <Html html={doc.html} />,
  });
}
