/** The copy button; shown only with script. */

import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";

/** Copies the text of the element with the id `of`. `label` describes it, if the word "copy" is not enough. */
export const Copy = ({ of, label }: { of: string; label?: string }) => {
  const { say } = useAround();
  return (
    <button type="button" class="btn sm" hidden data-copy={of} data-copied={say("copied")} aria-label={label}>
      <Icon name="copy" />
      {say("copy")}
    </button>
  );
};
