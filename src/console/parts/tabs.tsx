/** The tabs above the pages of one subject. */

import type { Child } from "hono/jsx";

interface Tab {
  path: string;
  text: Child;
  isHere: boolean;
}

export const Tabs = ({ label, of }: { label: string; of: Tab[] }) => (
  <nav class="tabs under" aria-label={label}>
    {of.map(({ path, text, isHere }) => (
      <a href={path} aria-current={isHere ? "page" : undefined}>
        {text}
      </a>
    ))}
  </nav>
);
