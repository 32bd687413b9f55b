/** What the index of the documentation contains, for the script that writes it and the pages that search it. */

import type { Options } from "minisearch";

/** A section of a guide, or an operation of the reference. */
export interface DocSection {
  /** Its path with anchor. */
  id: string;
  /** The page's title. */
  page: string;
  /** The heading of the section, or method and path of the operation; empty for the beginning of a page. */
  heading: string;
  /** Its words without markup. */
  text: string;
  kind: "guide" | "reference";
}

/** The search library's settings: they must be the same for writing and for reading. */
export const indexOptions: Options<DocSection> = {
  fields: ["heading", "page", "text"],
  storeFields: ["page", "heading", "text", "kind"],
  searchOptions: {
    boost: { heading: 4, page: 3 },
    prefix: true,
    fuzzy: (term) => (term.length > 4 ? 0.2 : false),
    combineWith: "AND",
    // A page comes before its sections.
    boostDocument: (id) => (String(id).includes("#") ? 1 : 2),
  },
};
