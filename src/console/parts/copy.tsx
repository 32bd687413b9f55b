/** The copy button, alone or behind an id; shown only with script. */

import { useAround } from "./context.ts";
import { Button } from "./button.tsx";
import { cutId } from "./ids.ts";

/** Copies the text of the element with the id `of`. `label` describes it, if the word "copy" is not enough; with `isIcon` the label is only for screen readers. `text` replaces the word "copy". */
export const Copy = ({
  of,
  label,
  text,
  isIcon = false,
  class: name = isIcon ? "btn ghost icon sm" : "btn sm",
}: {
  of: string;
  label?: string;
  text?: string;
  isIcon?: boolean;
  class?: string | undefined;
}) => {
  const { t } = useAround();
  return (
    <Button
      type="button"
      class={name}
      hidden
      data-copy={of}
      data-copied={t("copied")}
      aria-label={label}
      icon="copy"
      text={!isIcon && (text ?? t("copy"))}
    />
  );
};

/** An id, cut in the middle; its button copies it whole. `of` is unique on the page. */
export const CopiedId = ({ id, of, name }: { id: string; of: string; name: string }) => (
  <>
    <code class="id" title={id}>
      {cutId(id)}
    </code>
    <span id={of} hidden>
      {id}
    </span>{" "}
    <Copy of={of} label={`${useAround().t("copy")}: ${name}`} isIcon />
  </>
);
