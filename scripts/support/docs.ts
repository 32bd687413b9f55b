/** The documentation's files for tests and generated files: the rendered pages, and the programs of each. */

import { readFile } from "node:fs/promises";
import { Marked, type Tokens } from "marked";
import { pageFile, pageNames } from "../../src/console/site/contents.ts";
import { type Doc, fence, renderDoc } from "../../src/console/site/rendering.ts";

const read = (name: string) => readFile(new URL(`../../${pageFile(name)}`, import.meta.url), "utf8");

/** Every page, in order. */
export const renderDocs = (): Promise<Doc[]> => Promise.all(pageNames.map(async (name) => renderDoc(name, await read(name))));

/** A program of a page: run in the order of the page, or a file that other programs use. */
export interface Sample {
  language: "sh" | "python" | "js";
  file: string | undefined;
  /** The client of a program in Python, such as `openai`: it has an environment of its own (`test/clients/python.ts`). */
  environment: string | undefined;
  code: string;
}

const readFences = async (name: string) =>
  new Marked().lexer(await read(name)).filter((token): token is Tokens.Code => token.type === "code");

/** The blocks of a page that are no programs, such as configurations, in order. */
export const readTexts = async (name: string): Promise<string[]> =>
  (await readFences(name)).flatMap((block) => (fence(block).language === "text" ? [block.text] : []));

/** Every program of a page, in order. Blocks in other languages are not run. */
export async function readSamples(name: string): Promise<Sample[]> {
  return (await readFences(name)).flatMap((block) => {
    const { language, file, environment } = fence(block);
    const isProgram = language === "sh" || language === "python" || language === "js";
    return isProgram ? [{ language, file, environment, code: block.text }] : [];
  });
}
