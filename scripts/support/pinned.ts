/** Lines that stay at the top of a terminal while the log scrolls below them. */

/** A terminal with fewer lines than this below the pinned ones pins nothing. */
const minScrolled = 10;

const escape = "\u001b[";

/** How many rows lines take in a terminal of this width. */
const countRows = (lines: string[], columns: number) => lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);

/** What to write so that the lines and a rule below them stay on top, and the rest of the screen scrolls; undefined if the terminal is too small. */
export function pinned(lines: string[], { rows, columns }: { rows: number; columns: number }): string | undefined {
  const height = countRows(lines, columns) + 1;
  if (rows - height < minScrolled) return undefined;
  const head = [...lines, "─".repeat(columns)].map((line) => `${escape}2K${line}`).join("\r\n");
  // Setting the region moves the cursor to the corner: it is put back at the end.
  return `${escape}${height + 1};${rows}r${escape}1;1H${head}${escape}${rows};1H`;
}

/** Gives the whole screen back and leaves the cursor below everything. */
const unpinned = (rows: number): string => `${escape}r${escape}${rows};1H\r\n`;

/** Pins lines at a terminal until the process ends; elsewhere does nothing. */
export function pin(lines: string[]): void {
  const terminal = process.stdout;
  if (!terminal.isTTY) return;
  const draw = () => pinned(lines, terminal);
  const first = draw();
  if (first === undefined) return;
  // What the terminal shows moves up, into what can be scrolled back to.
  terminal.write("\n".repeat(terminal.rows) + first);
  terminal.on("resize", () => terminal.write(draw() ?? unpinned(terminal.rows)));
  process.once("exit", () => terminal.write(unpinned(terminal.rows)));
}
