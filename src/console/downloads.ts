/** Files that browsers store: CSV files for spreadsheets (RFC 4180) are read in parts while they are sent. */

import { Semaphore } from "../base/concurrency.ts";
import type { ConsoleContext } from "./context.ts";
import { TooMany } from "./request-limits.ts";

/** Answers with a file of this name. */
export const sendFile = (c: ConsoleContext, name: string, type: string, body: string | ReadableStream<Uint8Array>, bytes?: number) =>
  c.body(body, 200, {
    "content-type": type,
    "content-disposition": `attachment; filename="${name}"`,
    ...(bytes !== undefined && { "content-length": String(bytes) }),
  });

const rowsAtOnce = 600;
/** Each asks D1 again and again until it ends. A browser that goes away may leave its permit to expire. */
const running = new Semaphore({ maxAtOnce: Infinity, maxOfOne: 3, maxHoldMs: 300_000, maxWaitMs: 0 });

/** A field that spreadsheets do not interpret as a formula, quoted where necessary. In Chinese, Japanese and Korean, full-width signs begin one too. A debit is a number. */
function field(text: string): string {
  const safe = /^(?!-\d+(\.\d+)?$)[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of a CSV file. */
const line = (fields: string[]) => `${fields.map(field).join(",")}\r\n`;

/** The fields of a row, by their names in the head. */
export type Columns<Row> = Record<string, (row: Row) => string>;

/**
 * Answers with all rows that `read` pages through: it returns at most `limit` rows after the row `after`. An error while reading breaks the download off, so
 * that no file lacks rows without an error. Throws `TooMany` while the user has three such files on their way.
 */
export async function sendCsv<Row>(
  c: ConsoleContext,
  name: string,
  columns: Columns<Row>,
  read: (page: { limit: number; after: Row | undefined }) => Promise<Row[]>,
) {
  const permit = await running.tryEnter(c.var.user.id);
  if (!permit) throw new TooMany("too many downloads");
  const encoder = new TextEncoder();
  let after: Row | undefined;
  const rows = new ReadableStream<Uint8Array>({
    start(controller) {
      // Without a byte order mark Excel reads a file in a legacy encoding.
      controller.enqueue(encoder.encode(`\ufeff${line(Object.keys(columns))}`));
    },
    async pull(controller) {
      const rows = await read({ after, limit: rowsAtOnce }).catch((error: unknown) => {
        permit.release();
        throw error;
      });
      after = rows.at(-1);
      const lines = rows.map((row) => line(Object.values(columns).map((text) => text(row))));
      if (lines.length > 0) controller.enqueue(encoder.encode(lines.join("")));
      if (lines.length < rowsAtOnce) {
        permit.release();
        controller.close();
      }
    },
    cancel: permit.release,
  });
  return sendFile(c, `${name}.csv`, "text/csv; charset=utf-8; header=present", rows);
}
