/** Asks before what cannot be undone: the page's title is the question. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";
import { Problem } from "./note.tsx";
import { Link } from "./button.tsx";

interface QuestionProps {
  /** What follows from it. */
  text: string;
  /** The path of the way back, and its word if it is not "Cancel". */
  back: string;
  no?: string;
  /** The verb of the button, and its icon. */
  yes: string;
  icon?: string;
  isHarmless?: boolean;
  problem?: string | undefined;
  /** Further inputs. */
  children?: Child;
}

export const Question = ({ text, back, no, yes, icon, isHarmless = false, problem, children }: QuestionProps) => {
  const { t } = useAround();
  const refuse = <Link class="btn" href={back} text={no ?? t("cancel")} />;
  return (
    <form method="post" class="stack narrow">
      <Problem text={problem} />
      <p>{text}</p>
      {children}
      <p class="row">
        {!isHarmless && refuse}
        <button class={isHarmless ? "btn primary" : "btn danger"}>
          {icon !== undefined && <Icon name={icon} />}
          {yes}
        </button>
        {isHarmless && refuse}
      </p>
    </form>
  );
};
