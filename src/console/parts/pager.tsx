/** Below a page of a list: the links to its first page and to the next one. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { Link } from "./button.tsx";

interface PagerProps {
  /** The paths; undefined if there is no such page. */
  first?: string | undefined;
  next?: string | undefined;
  /** Their words, of lists that do not begin with the newest. */
  firstText?: string;
  nextText?: Child;
  /** How long or how much of it is kept. */
  note?: string;
  /** Further links. */
  children?: Child;
}

export const Pager = ({ first, next, firstText, nextText, note, children }: PagerProps) => {
  const { t } = useAround();
  const links = (
    <>
      {children}
      {first !== undefined && <Link class="btn sm" href={first} text={firstText ?? t("newest")} />}
      {next !== undefined && <Link class="btn sm push" href={next} rel="next" text={nextText ?? t("older")} />}
    </>
  );
  if (note === undefined) return first === undefined && next === undefined ? null : <p class="pager">{links}</p>;
  return (
    <div class="pager">
      <span class="meta">{note}</span>
      <span class="row">{links}</span>
    </div>
  );
};
