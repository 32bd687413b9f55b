/** Searches the documentation in the index that `npm run generate` writes. */

import MiniSearch from "minisearch";
import { type DocSection, indexOptions } from "./docs-index.ts";
import index from "./docs-index.txt";
import type { Hit } from "./hits.tsx";

/** Read when it is first searched, because most isolates never do. */
let docs: MiniSearch<DocSection> | undefined;

const excerptLength = 110;

/** So much of the sentence may come before the found word. */
const maxBefore = 40;

/** One line of the text around the first of the found words, from the beginning of its sentence if that is near. */
function excerpt(text: string, terms: readonly string[]): string {
  const places = terms.map((term) => text.toLowerCase().indexOf(term)).filter((place) => place >= 0);
  const at = places.length === 0 ? 0 : Math.min(...places);
  const sentence = at === 0 ? 0 : text.lastIndexOf(". ", at) + 1;
  const start = at - sentence <= maxBefore ? sentence : text.indexOf(" ", at - maxBefore);
  const words = text.slice(start).trim();
  const line = words.length <= excerptLength ? words : `${words.slice(0, words.lastIndexOf(" ", excerptLength))} …`;
  return start === sentence ? line : `… ${line}`;
}

/** The sections that have all words of the query, or words like them, best first: at most so many guides, then so many operations. */
export function searchDocs(query: string, max: { guide: number; reference: number }): Hit[] {
  docs ??= MiniSearch.loadJSON<DocSection>(index, indexOptions);
  const all = docs.search(query);
  const ofKind = (kind: DocSection["kind"]) => all.filter((found) => found["kind"] === kind).slice(0, max[kind]);
  return [...ofKind("guide"), ...ofKind("reference")].map(({ id, terms, ...found }): Hit => {
    const { page, heading, text, kind } = found as unknown as DocSection;
    const isReference = kind === "reference";
    return {
      path: String(id),
      title: heading === "" || heading === page ? page : isReference ? heading : `${page}: ${heading}`,
      lead: isReference ? page : excerpt(text, terms),
      icon: isReference ? "list" : "book",
      kind,
      terms,
      language: "en",
    };
  });
}
