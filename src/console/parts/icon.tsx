/** Icons, from the one sprite. */

import { pathOf } from "../static-files.ts";

/** A drawing of 16 pixels, beside a word that says the same. */
export const Icon = ({ name }: { name: string }) => (
  <svg class="i" aria-hidden="true">
    <use href={`${pathOf("icons.svg")}#${name}`} />
  </svg>
);
