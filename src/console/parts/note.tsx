/** Notes within a page: form errors and information. */

import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

const icons = { bad: "bad", warn: "warn", good: "ok", plain: "info" } as const;

/** A note in the flow of the page. */
export const Note = ({ tone = "plain", role, children }: { tone?: keyof typeof icons; role?: "status" | "alert"; children?: Child }) => (
  <div class={`note ${tone}`} role={role}>
    <Icon name={icons[tone]} />
    <div>{children}</div>
  </div>
);

/** Why a form was refused; it takes the focus. `isApart` leaves room below it, where no form follows directly. */
export const Refused = ({ isApart = false, children }: { isApart?: boolean; children: Child }) => (
  <div class={isApart ? "note bad made" : "note bad"} role="alert" tabindex={-1} data-focus>
    <Icon name="bad" />
    {children}
  </div>
);

/** A form's error message. */
export const Problem = ({ text }: { text: string | undefined }) =>
  text === undefined ? null : (
    <Refused>
      <div>{text}</div>
    </Refused>
  );

export interface FieldProblem {
  /** The field's `name`. */
  field: string;
  /** Its label as users read it; without it the text names the field. */
  label?: string;
  text: string;
}

/** The errors of a form, each with a link to its field. */
export const FieldProblems = ({ problems }: { problems: FieldProblem[] }) =>
  problems.length === 0 ? null : (
    <Refused>
      <ul>
        {problems.map(({ field, label, text }) => (
          <li>
            <a href={`#f-${field}`}>{label ?? text}</a>
            {label !== undefined && `: ${text}`}
          </li>
        ))}
      </ul>
    </Refused>
  );
