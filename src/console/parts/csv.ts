/** Rows as a CSV file for spreadsheets (RFC 4180), read in parts while it is sent. */

const rowsAtOnce = 600;

/** A field that spreadsheets do not interpret as a formula, quoted where necessary. In Chinese, Japanese and Korean, full-width signs begin one too. */
function field(text: string): string {
  const safe = /^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of a CSV file. */
export const line = (fields: string[]) => `${fields.map(field).join(",")}\r\n`;

/** All rows that `read` pages through. An error while reading breaks the download off, so that no file lacks rows without an error. */
export function csv<Row>(
  columns: Record<string, (row: Row) => string>,
  read: (page: { limit: number; after?: Row | undefined }) => Promise<Row[]>,
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

/** The headers of a CSV file to download. */
export const csvHeaders = (name: string) => ({
  "content-type": "text/csv; charset=utf-8; header=present",
  "content-disposition": `attachment; filename="${name}"`,
});
