/** Tables, key numbers and facts. */

import type { Child } from "hono/jsx";

/** The look of a column, in its head and in each row. */
interface Head {
  /** Empty for columns of buttons and links. */
  name: string;
  isNumber?: boolean;
  /** Hidden in narrow windows, in the head and in each row by the class `hide-s`. */
  isExtra?: boolean;
}

interface TableProps {
  /** Its name for screen readers. */
  label: string;
  columns: (string | Head)[];
  class?: string;
  id?: string;
  /** Its rows. */
  children?: Child;
  foot?: Child;
}

const headClass = ({ isNumber, isExtra }: Head) => [isNumber && "num", isExtra && "hide-s"].filter(Boolean).join(" ") || undefined;

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
                  <td class={headClass(column)} />
                ) : (
                  <th scope="col" class={headClass(column)}>
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

/** A column: its head, and its cell in each row. */
interface Column<Row> extends Head {
  /** Further classes of its cells. */
  class?: string;
  cell: (row: Row, at: number) => Child;
}

interface DataTableProps<Row> extends Omit<TableProps, "columns" | "children"> {
  /** The first one names the row. */
  columns: (Column<Row> | false)[];
  rows: readonly Row[];
  /** Shown in place of a table without rows. */
  none?: string;
}

const cellClass = (column: Head & { class?: string }) => [headClass(column), column.class].filter(Boolean).join(" ") || undefined;

/** A table whose rows are alike. */
export function DataTable<Row>({ columns, rows, none, ...table }: DataTableProps<Row>) {
  const shown = columns.filter((column) => column !== false);
  if (rows.length === 0 && none !== undefined) return <p class="muted">{none}</p>;
  return (
    <Table {...table} columns={shown}>
      {rows.map((row, at) => (
        <tr>
          {shown.map((column, place) =>
            place === 0 ? (
              <th scope="row" class={cellClass(column)}>
                {column.cell(row, at)}
              </th>
            ) : (
              <td class={cellClass(column)}>{column.cell(row, at)}</td>
            ),
          )}
        </tr>
      ))}
    </Table>
  );
}

/** A name that may be long: two lines of it, the whole under the pointer. */
export const TwoLines = ({ of }: { of: string }) => (
  <span class="clamp" title={of}>
    {of}
  </span>
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
