/** Links and buttons with an icon. */

import type { Child, JSX } from "hono/jsx";
import { Icon } from "./icon.tsx";

interface IconAndText {
  icon: string;
  /** Beside the icon; without it `aria-label` names the button. */
  text?: Child;
}

export const IconLink = ({ icon, text, ...rest }: IconAndText & JSX.IntrinsicElements["a"]) => (
  <a {...rest}>
    <Icon name={icon} />
    {text}
  </a>
);

export const IconButton = ({ icon, text, ...rest }: IconAndText & JSX.IntrinsicElements["button"]) => (
  <button {...rest}>
    <Icon name={icon} />
    {text}
  </button>
);
