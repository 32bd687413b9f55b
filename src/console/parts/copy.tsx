/** The button that copies; only script shows it. */

import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";

/** Copies the text of the element with the id `of`. `label` says what, where the word alone does not. */
export const Copy = ({ of, label }: { of: string; label?: string }) => {
  const { say } = useAround();
  return (
    <button type="button" class="btn sm" hidden data-copy={of} data-copied={say("copied")} aria-label={label}>
      <Icon name="copy" />
      {say("copy")}
    </button>
  );
};
