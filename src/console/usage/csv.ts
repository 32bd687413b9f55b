/** CSV files for spreadsheets (RFC 4180), read in parts while they are sent; and that of the ledger. */

import type { Entry, Place } from "../../db/ledger-reports.ts";
import { decimal } from "../amounts.ts";

const rowsAtOnce = 600;

const columns: Columns<Entry> = {
  submitted: ({ at }) => new Date(at).toISOString(),
  ended: ({ closedAt }) => (closedAt === null ? "" : new Date(closedAt).toISOString()),
  task: ({ taskId }) => taskId,
  kind: ({ kind }) => kind,
  model: ({ model }) => model,
  key: ({ keyName }) => keyName ?? "",
  reserved: ({ held }) => decimal(held),
  charged: ({ charged }) => (charged === null ? "" : decimal(charged)),
  returned: ({ held, charged }) => (charged === null ? "" : decimal(held - charged)),
  outcome: ({ outcome }) => outcome ?? "",
};

/** A field that spreadsheets do not interpret as a formula, quoted where necessary. In Chinese, Japanese and Korean, full-width signs begin one too. A debit is a number. */
function field(text: string): string {
  const safe = /^(?!-\d+(\.\d+)?$)[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of a CSV file. */
const line = (fields: string[]) => `${fields.map(field).join(",")}\r\n`;

/** The fields of a row, by their names in the head. */
type Columns<Row> = Record<string, (row: Row) => string>;

/**
 * All rows that `read` pages through: it returns at most `limit` rows after the row `after`. An error while reading breaks the download off, so
 * that no file lacks rows without an error.
 */
export function csvOf<Row>(
  columns: Columns<Row>,
  read: (page: { limit: number; after: Row | undefined }) => Promise<Row[]>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let after: Row | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Without a byte order mark Excel reads a file in a legacy encoding.
      controller.enqueue(encoder.encode(`\ufeff${line(Object.keys(columns))}`));
    },
    async pull(controller) {
      const rows = await read({ after, limit: rowsAtOnce });
      after = rows.at(-1);
      const lines = rows.map((row) => line(Object.values(columns).map((text) => text(row))));
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
      if (lines.length < rowsAtOnce) controller.close();
    },
  });
}

/** The headers of a file that browsers store as `{name}.csv`. */
export const csvHeaders = (name: string): Record<string, string> => ({
  "content-type": "text/csv; charset=utf-8; header=present",
  "content-disposition": `attachment; filename="${name}.csv"`,
});

/** All entries of a period (milliseconds), newest first. */
export const csv = (
  read: (page: { since: number; limit: number; after?: Place | undefined }) => Promise<Entry[]>,
  { since, until }: { since: number; until: number },
): ReadableStream<Uint8Array> => csvOf<Entry>(columns, ({ limit, after }) => read({ since, limit, after: after ?? endOf(until) }));

/** The place that all entries before `until` (milliseconds) come after. */
export const endOf = (until: number): Place => ({ at: until, taskId: "" });
