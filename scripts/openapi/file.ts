/** The description's file: its path and its content. */

import { readFile } from "node:fs/promises";
import { describeApi } from "./document.ts";

export const descriptionFile = new URL("../../src/console/site/openapi.json", import.meta.url);

/** What `npm run openapi` writes. */
export async function descriptionText(): Promise<string> {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return `${JSON.stringify(describeApi(version), null, 1)}\n`;
}
