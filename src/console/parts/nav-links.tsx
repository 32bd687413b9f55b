/** Links of one subject, of which one is chosen: the tabs above its pages, `chips` that filter a list, or the segments (`seg`) of a view. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";

interface Place {
  path: string;
  text: Child;
  icon?: string;
  /** How many entries it has. */
  count?: number;
  isHere: boolean;
}

export const NavLinks = ({ label, of, class: name = "tabs under" }: { label: string; of: (Place | false)[]; class?: string }) => {
  const { language } = useAround();
  const isFilter = name.startsWith("chips");
  return (
    <nav class={name} aria-label={label}>
      {of.map(
        (place) =>
          place && (
            <a
              class={isFilter ? "chip" : undefined}
              href={place.path}
              aria-current={place.isHere ? (isFilter ? "true" : "page") : undefined}
            >
              {place.icon !== undefined && <Icon name={place.icon} />}
              {place.text}
              {place.count !== undefined && [" ", <b>{place.count.toLocaleString(language)}</b>]}
            </a>
          ),
      )}
    </nav>
  );
};
