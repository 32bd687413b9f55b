/** The index of the decision records, read from the records themselves. */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../docs/decisions/", import.meta.url));

export const indexFile = `${folder}README.md`;

const introduction = `# Decisions

Design decisions where the specification leaves room, with their reasons. Each record has context, decision and consequence. A decision that no longer
applies is not edited: a newer record replaces it and says so. \`npm run decisions\` writes this index.

`;

/** The index as Markdown, one row per record. Throws with the file's name if a record has no title or date. */
export function decisionsIndex(): string {
  const records = readdirSync(folder).filter((name) => /^\d{4}-.*\.md$/.test(name));
  const rows = records.toSorted().map((name) => {
    const text = readFileSync(folder + name, "utf8");
    const title = /^# \d+\. (.+)$/m.exec(text)?.[1];
    const date = /^Date: (\d{4}-\d\d-\d\d)$/m.exec(text)?.[1];
    if (!title || !date) throw new Error(`docs/decisions/${name} needs the lines "# N. Title" and "Date: YYYY-MM-DD"`);
    return `- ${date} · [${name.slice(0, 4)} ${title}](${name})\n`;
  });
  return introduction + rows.join("");
}
