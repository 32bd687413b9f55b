/** Tables, key numbers and facts. */

import type { Child } from "hono/jsx";

export interface Column {
  /** Empty for columns of buttons and links. */
  name: string;
  isNumber?: boolean;
  /** Hidden in narrow windows, in the head here and in each row by the class `hide-s`. */
  isExtra?: boolean;
}

interface TableProps {
  /** Its name for screen readers. */
  label: string;
  columns: (string | Column)[];
  class?: string;
  id?: string;
  /** Its rows. */
  children?: Child;
  foot?: Child;
}

const columnClass = ({ isNumber, isExtra }: Column) => [isNumber && "num", isExtra && "hide-s"].filter(Boolean).join(" ") || undefined;

/** A table that scrolls by itself if it is too wide, also by keyboard. */
export const Table = ({ label, columns, class: name, id, children, foot }: TableProps) => (
  <div class="card flush">
    <div class="table" tabindex={0} role="region" aria-label={label}>
      <table class={name} id={id}>
        <thead>
          <tr>
            {columns
              .map((column) => (typeof column === "string" ? { name: column } : column))
              .map((column) =>
                column.name === "" ? (
                  <td class={columnClass(column)} />
                ) : (
                  <th scope="col" class={columnClass(column)}>
                    {column.name}
                  </th>
                ),
              )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  </div>
);

/** Large key numbers, each with its label and a small line below. */
export const Stats = ({ of, isSmall }: { of: (readonly [name: Child, figure: Child, small?: Child])[]; isSmall?: boolean }) => (
  <div class={isSmall ? "stats sm" : "stats"}>
    {of.map(([name, figure, small]) => (
      <dl class="stat">
        <dt>{name}</dt>
        <dd>
          {figure}
          {small !== undefined && <small>{small}</small>}
        </dd>
      </dl>
    ))}
  </div>
);

/** Labels and values, one per line. `isReceipt` draws a line above the last one, the sum. */
export const Facts = ({ of, isReceipt }: { of: (readonly [name: Child, value: Child] | false | undefined)[]; isReceipt?: boolean }) => (
  <dl class={isReceipt ? "facts total" : "facts"}>
    {of.map(
      (fact) =>
        fact && (
          <>
            <dt>{fact[0]}</dt>
            <dd>{fact[1]}</dd>
          </>
        ),
    )}
  </dl>
);
