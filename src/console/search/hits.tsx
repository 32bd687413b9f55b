/** What a search has found, in groups: the same list in the palette and on the page without script. */

import { Icon, useAround } from "../parts/index.ts";

const kinds = {
  guide: "search_kind_guide",
  reference: "docs_reference",
  page: "search_kind_page",
  model: "model",
  key: "usage_key",
  task: "task",
  batch: "batch",
  conversation: "search_kind_conversation",
  request: "request",
  action: "search_kind_action",
} as const;

export interface Hit {
  path: string;
  title: string;
  /** One line below the title. */
  lead?: string | undefined;
  icon: string;
  kind: keyof typeof kinds;
  /** The words that were found, in lower case; without them those of the query. */
  terms?: readonly string[];
  /** The language of the words if it is not the page's. */
  language?: string;
}

export interface HitGroup {
  title: string;
  hits: Hit[];
}

const escapePattern = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** A text with the found words marked. */
const Marked = ({ text, terms }: { text: string; terms: readonly string[] }) => {
  if (terms.length === 0) return <>{text}</>;
  const longestFirst = terms.toSorted((one, other) => other.length - one.length).map(escapePattern);
  const parts = text.split(new RegExp(`(${longestFirst.join("|")})`, "i"));
  return <>{parts.map((part, at) => (at % 2 === 1 ? <mark>{part}</mark> : part))}</>;
};

/** The words of a query, in lower case. */
export const splitWords = (query: string): string[] => query.toLowerCase().split(/\s+/).filter(Boolean);

export const Hits = ({ groups, query }: { groups: HitGroup[]; query: string }) => {
  const { t } = useAround();
  const filled = groups.filter(({ hits }) => hits.length > 0);
  const typed = splitWords(query);
  return (
    <div class="hits">
      {filled.length === 0 && typed.length > 0 && (
        <p class="muted pad" role="status">
          {t("search_none", { query })}
        </p>
      )}
      {filled.map(({ title, hits }) => (
        <section>
          <h2>{title}</h2>
          {hits.map(({ path, title: name, lead, icon, kind, terms = typed, language }) => (
            <a href={path}>
              <Icon name={icon} />
              <b lang={language}>
                <Marked text={name} terms={terms} />
              </b>
              {lead !== undefined && (
                <span class="meta clip" lang={language}>
                  <Marked text={lead} terms={terms} />
                </span>
              )}
              <span class="meta">{t(kinds[kind])}</span>
            </a>
          ))}
        </section>
      ))}
    </div>
  );
};
