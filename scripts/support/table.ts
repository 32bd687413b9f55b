/** Tables in Markdown. */

/** The first column is aligned to the left, the others to the right. */
export function table(header: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [line(header), line(header.map((_, at) => (at === 0 ? "---" : "--:"))), ...rows.map(line)].join("\n");
}
