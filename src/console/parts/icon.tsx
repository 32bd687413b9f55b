/** Icons from the sprite. */

import { hashedPath } from "../static-files.ts";

/** An icon of 16 pixels, beside a word with the same meaning. */
export const Icon = ({ name }: { name: string }) => (
  <svg class="i" aria-hidden="true">
    <use href={`${hashedPath("icons.svg")}#${name}`} />
  </svg>
);
