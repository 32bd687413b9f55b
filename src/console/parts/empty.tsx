/** What stands in place of a list that has nothing yet, or nothing that was asked for. */

import type { Child } from "hono/jsx";
import { Icon } from "./icon.tsx";

interface EmptyProps {
  icon: string;
  title: string;
  /** Why it is useful, or what to change. */
  text?: string;
  /** The buttons of the next steps. */
  children?: Child;
}

export const Empty = ({ icon, title, text, children }: EmptyProps) => (
  <div class="empty">
    <Icon name={icon} />
    <h2>{title}</h2>
    {text !== undefined && <p>{text}</p>}
    {children && <div class="row">{children}</div>}
  </div>
);
