/** Links and buttons, with an icon or without. */

import type { Child, JSX } from "hono/jsx";
import { Icon } from "./icon.tsx";

interface Face {
  icon?: string | undefined;
  /** Beside the icon; without it `aria-label` names the button. */
  text?: Child;
}

export const Link = ({ icon, text, ...rest }: Face & JSX.IntrinsicElements["a"]) => (
  <a {...rest}>
    {icon !== undefined && <Icon name={icon} />}
    {text}
  </a>
);

export const Button = ({ icon, text, ...rest }: Face & JSX.IntrinsicElements["button"]) => (
  <button {...rest}>
    {icon !== undefined && <Icon name={icon} />}
    {text}
  </button>
);

/** Below a page's title: the way to the page that it belongs to, and what else is said there. */
export const Back = ({ to, text, more }: { to: string; text: Child; more?: Child }) => (
  <span class="row">
    <Link class="back" href={to} icon="left" text={text} />
    {more}
  </span>
);
