/** A form below a list, folded until it is wanted. */

import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";
import { Link } from "./button.tsx";

/** `isOpen`: there is nothing above it yet, or what was typed was refused. A link to an element within opens it too. */
export const Fold = ({ text, isOpen, children }: { text: string; isOpen: boolean; children?: Child }) => (
  <details class="fold" open={isOpen}>
    <summary class="btn">
      <Icon name="plus" />
      {text}
    </summary>
    {children}
  </details>
);

/** Beside the page's title: opens the form of a `Fold` below a list at its field `to`. */
export const FoldLink = ({ text, to }: { text: string; to: string }) => (
  <Link class="btn primary" href={`#${to}`} icon="plus" text={text} />
);
