/** The documentation's pages, rendered when they are first asked for, with this gateway's own address in every sample. */

import type { ConsoleContext } from "../context.ts";
import { known } from "../../base/known.ts";
import { repositoryUrl } from "../settings.ts";
import { hashedPath } from "../static-files.ts";
import { pageFile, pageNames } from "./contents.ts";
import { markdown } from "./markdown.ts";
import { type Doc, type Head, readHead, renderDoc } from "./rendering.ts";

/** The address that samples are written with. */
const writtenBase = "https://gateway.example";

/** Text of the repository with the address by which this gateway was reached. */
export const withBase = (c: ConsoleContext, text: string) => text.replaceAll(writtenBase, new URL(c.req.url).origin);

function atHome(c: ConsoleContext, html: string): string {
  const repository = repositoryUrl(c.env);
  const linked =
    repository === undefined
      ? html.replace(/<a href="\{\{repository\}\}[^"]*">(.*?)<\/a>/gs, "$1")
      : html.replaceAll("{{repository}}", `${repository}/blob/main`);
  return withBase(c, linked)
    .replaceAll("{{icons}}", hashedPath("icons.svg"))
    .replaceAll("{{copy}}", c.var.t("copy"))
    .replaceAll("{{copied}}", c.var.t("copied"));
}

/** Keeps what a function returned for each name. */
function kept<Value>(make: (name: string) => Value): (name: string) => Value {
  const values = new Map<string, Value>();
  return (name) => {
    const value = values.get(name) ?? make(name);
    values.set(name, value);
    return value;
  };
}

const source = (name: string) => known(new Map(Object.entries(markdown)), name);
const rendered = kept((name) => renderDoc(name, source(name)));

/** The title and first paragraph of a page that the contents name. */
export const pageHead: (name: string) => Head = kept((name) => readHead(source(name)));

/** A page by its name, in HTML for this gateway; undefined for unknown ones. */
export function docNamed(c: ConsoleContext, name: string): Doc | undefined {
  if (!pageNames.includes(name)) return undefined;
  const doc = rendered(name);
  return { ...doc, html: atHome(c, doc.html) };
}

/** Where a page is edited; undefined if the address of the repository is not set. */
export function editAddress(c: ConsoleContext, name: string): string | undefined {
  const repository = repositoryUrl(c.env);
  return repository && `${repository}/edit/main/${pageFile(name)}`;
}

/** The request that the landing page shows, in three languages. */
export function landingSample(c: ConsoleContext): string {
  const { html } = rendered("landing");
  return atHome(c, html.slice(html.indexOf('<div class="code"')));
}
