/** The documentation as it was rendered by `npm run generate`, with this gateway's own address in every sample. */

import type { ConsoleContext } from "../context.ts";
import { known } from "../../base/known.ts";
import { once } from "../../base/once.ts";
import { hashedPath } from "../static-files.ts";
import text from "./docs.txt";

/** A page, rendered. */
export interface Doc {
  name: string;
  title: string;
  description: string;
  html: string;
  sections: { id: string; title: string }[];
}

/** The address that samples are written with. */
const writtenBase = "https://gateway.example";

/** Text of the repository with the address by which this gateway was reached. */
export const withBase = (c: ConsoleContext, text: string) => text.replaceAll(writtenBase, new URL(c.req.url).origin);

const atHome = (c: ConsoleContext, html: string) =>
  withBase(c, html)
    .replaceAll("{{icons}}", hashedPath("icons.svg"))
    .replaceAll("{{copy}}", c.var.t("copy"))
    .replaceAll("{{copied}}", c.var.t("copied"));

/** Read when it is first shown: most isolates never do, and as code it would be a seventh of the script. */
const rendered = once(() => JSON.parse(text) as { pages: Doc[]; landing: string });

/** The pages by their names. */
const docs = once((): ReadonlyMap<string, Doc> => new Map(rendered().pages.map((page) => [page.name, page])));

/** A page that the contents name. Throws when it was not rendered. */
export const renderedPage = (name: string): Doc => known(docs(), name);

/** A page by its name, in HTML for this gateway. */
export function docNamed(c: ConsoleContext, name: string): Doc | undefined {
  const doc = docs().get(name);
  return doc && { ...doc, html: atHome(c, doc.html) };
}

/** The request that the landing page shows, in three languages. */
export const landingSample = (c: ConsoleContext) => atHome(c, rendered().landing);
