/** What looks like a search field: a link to the search page, which the script turns into the palette. */

import { Icon, useAround } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";

/** `href` is the search page, and the address that the palette asks. */
export const Find = ({ href, text }: { href: "/console/search" | "/docs/search"; text: string }) => {
  const { t } = useAround();
  return (
    <a
      class="find"
      href={href}
      data-palette={hashedPath("palette.js")}
      data-label={t("search")}
      data-choose={t("search_choose")}
      data-go={t("search_open")}
      data-tab={t("search_tab")}
    >
      <Icon name="search" />
      <span class="clip">{text}</span>
      <kbd aria-hidden="true">Ctrl K</kbd>
    </a>
  );
};
