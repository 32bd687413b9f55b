/** The ledger as a CSV file for spreadsheets (RFC 4180), read in parts while it is sent. */

import type { Entry, Place } from "../../db/ledger-reports.ts";
import { decimal } from "../amounts.ts";

const rowsAtOnce = 600;

const columns: Record<string, (entry: Entry) => string> = {
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

/** A field that spreadsheets do not interpret as a formula, quoted where necessary. In Chinese, Japanese and Korean, full-width signs begin one too. */
function field(text: string): string {
  const safe = /^[=+\-@＝＋－＠\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A line of a CSV file. */
export const line = (fields: string[]) => `${fields.map(field).join(",")}\r\n`;

/** All entries that `read` pages through since `since` (milliseconds), newest first. An error while reading breaks the download off, so that no file lacks entries without an error. */
export function csv(
  read: (page: { since: number; limit: number; after?: Place | undefined }) => Promise<Entry[]>,
  since: number,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let after: Place | undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Without a byte order mark Excel reads a file in a legacy encoding.
      controller.enqueue(encoder.encode(`\ufeff${line(Object.keys(columns))}`));
    },
    async pull(controller) {
      const entries = await read({ since, after, limit: rowsAtOnce });
      after = entries.at(-1);
      const rows = entries.map((entry) => line(Object.values(columns).map((text) => text(entry))));
      if (rows.length > 0) controller.enqueue(encoder.encode(rows.join("")));
      if (rows.length < rowsAtOnce) controller.close();
    },
  });
}
