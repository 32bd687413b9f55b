/** The reader of manifests as a script for browsers: the same code that looks at files when they are stored, without its types. */

import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";

const read = (file: string) => readFile(new URL(`../../src/media/${file}`, import.meta.url), "utf8");

/** A script that defines `credentialReader` for the page's other scripts: the reader, and of the boxes only what it imports. */
export async function clientCredentials(): Promise<string> {
  const [boxes, reader] = await Promise.all([read("iso-boxes.ts"), read("credentials.ts")]);
  const helpers = ["fourLetters", "toDataView"].map((name) => new RegExp(`^export (const ${name} = .*)$`, "m").exec(boxes)?.[1] ?? "");
  const own = reader.replace(/^import .*\n/gm, "").replace(/^export (function )/gm, "$1");
  const text = stripTypeScriptTypes(`${helpers.join("\n")}\n${own}`, { mode: "strip" });
  const lines = text
    .replace(/\/\*\*?[^]*?\*\//g, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\/\/.*/, "").trimEnd())
    .filter((line) => line !== "");
  return `// Made by \`npm run generate\` from src/media/credentials.ts: defines credentialReader.\n${lines.join("\n")}\nglobalThis.credentialReader = credentialReader;\n`;
}
