/** The index that the console searches the documentation with: sections of the guides, and the operations of the reference. */

import { readFile } from "node:fs/promises";
import MiniSearch from "minisearch";
import { docPath } from "../../src/console/site/contents.ts";
import { type DocSection, indexOptions } from "../../src/console/search/docs-index.ts";
import type { Doc } from "../../src/console/site/rendering.ts";

const entities: Record<string, string> = {
  "&#38;": "&",
  "&#60;": "<",
  "&#62;": ">",
  "&#34;": '"',
  "&#39;": "'",
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
};

/** The words of HTML without markup, code and buttons. Parts of a line, such as links, add no spaces to it. */
const toWords = (html: string) =>
  html
    .replace(/<(label|button|pre)\b[^]*?<\/\1>/g, " ")
    .replace(/<\/?(?:a|b|code|em|i|span|strong)\b[^>]*>/g, "")
    .replace(/<[^>]+>/g, " ")
    .replace(/&#?\w+;/g, (entity) => entities[entity] ?? " ")
    .replace(/\{\{\w+\}\}/g, " ")
    .replace(/\s+([.,:;)])/g, "$1")
    .replace(/\s+/g, " ")
    .trim();

/** The sections of a page, each with its heading; the first is what stands above all headings. */
function toSections({ name, title, html }: Doc): DocSection[] {
  const [beginning = "", ...parts] = html.split(/(?=<h[23] id=")/);
  const path = docPath(name);
  return [
    { id: path, page: title, heading: "", text: toWords(beginning.replace(/<h1>[^]*?<\/h1>/, "")), kind: "guide" },
    ...parts.map((part): DocSection => {
      const [, id = "", heading = ""] = /^<h[23] id="([^"]+)">([^]*?)<\/h[23]>/.exec(part) ?? [];
      return {
        id: `${path}#${id}`,
        page: title,
        heading: toWords(heading),
        text: toWords(part.replace(/^<h[23][^]*?<\/h[23]>/, "")),
        kind: "guide",
      };
    }),
  ];
}

interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
}

/** The operations of the description, each with the words that it is described with. */
async function operations(): Promise<DocSection[]> {
  const file = new URL("../../src/console/site/openapi.json", import.meta.url);
  const { paths } = JSON.parse(await readFile(file, "utf8")) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          operationId,
          tags: [tag = ""],
          summary,
          description = "",
        },
      ]): DocSection => ({
        id: `/docs/reference/${tag}/${operationId}`,
        page: summary,
        heading: `${method.toUpperCase()} ${path}`,
        text: description.replace(/[`*]|\]\([^)]*\)|\[/g, ""),
        kind: "reference",
      }),
    ),
  );
}

/** The index as text. */
export async function docsSearch(pages: Doc[]): Promise<string> {
  const index = new MiniSearch<DocSection>(indexOptions);
  index.addAll([...pages.flatMap(toSections), ...(await operations())]);
  return JSON.stringify(index);
}
