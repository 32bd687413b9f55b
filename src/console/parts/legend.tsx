/** The legend of a chart or meter: each part's colour, with a word or a figure. */

import type { Child } from "hono/jsx";

/** A small square in a colour of a chart; without a colour it keeps the place. */
export const Swatch = ({ colour }: { colour: string }) => (
  <svg class="key" viewBox="0 0 10 10" aria-hidden="true">
    {colour !== "" && <rect class={colour} width="10" height="10" rx="2" />}
  </svg>
);

/** `of`: the class of each colour, undefined for a figure without one, and what stands beside it. */
export const Legend = ({ of, class: name = "legend" }: { of: (readonly [colour: string | undefined, text: Child])[]; class?: string }) => (
  <ul class={name}>
    {of.map(([colour, text]) => (
      <li>
        {colour !== undefined && <Swatch colour={colour} />}
        {text}
      </li>
    ))}
  </ul>
);
