/** The head of a section: its title, and what stands beside it. */

import type { Child } from "hono/jsx";

interface SectionHeadProps {
  title: Child;
  id?: string;
  /** Its number, of steps in an order. */
  step?: number;
  children?: Child;
}

export const SectionHead = ({ title, id, step, children }: SectionHeadProps) => (
  <div class="sub">
    <h2 id={id}>
      {step !== undefined && (
        <>
          <span class="nth">{step}</span>{" "}
        </>
      )}
      {title}
    </h2>
    {children}
  </div>
);
