/** Reads JSON lines while they arrive. */

import { readText } from "../../media/json-text.ts";

/** As long as a line of a batch may be, and room for characters of several bytes. */
const maxLineLength = 1024 * 1024;

/** The line is longer than a batch allows. `line` counts from 1. */
export class LongLineError extends Error {
  override readonly name = "LongLineError";
  readonly line: number;

  constructor(line: number) {
    super(`line ${line} is too long`);
    this.line = line;
  }
}

/** The lines of a file with their numbers from 1, without those of white space only. Throws `LongLineError`, and `JsonBodyError` if it is not UTF-8. */
export async function* readLines(
  body: ReadableStream<Uint8Array>,
  maxLength = Infinity,
): AsyncGenerator<{ text: string; line: number }, void> {
  let rest = "";
  let line = 0;
  for await (const piece of readText(body, { maxBytes: Infinity })) {
    const texts = (rest + piece).split("\n");
    rest = texts.pop() ?? "";
    for (const text of texts) {
      line++;
      if (text.trim() !== "") yield { text, line };
    }
    if (rest.length > maxLength) throw new LongLineError(line + 1);
  }
  if (rest.trim() !== "") yield { text: rest, line: line + 1 };
}

/** The lines of a batch's input. */
export const readInput = (body: ReadableStream<Uint8Array>) => readLines(body, maxLineLength);
