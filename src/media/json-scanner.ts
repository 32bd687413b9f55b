/** Follows a JSON text piece by piece: which part of it is inside which string, and where in the document that is. */

import { JsonBodyError } from "./json-error.ts";

/** From the document's root: a field's name, or an index in an array. */
export type JsonPath = readonly (string | number)[];

/** A part of the text. What stands between two quotation marks is a `string` or a field's `name`, the rest, marks included, `structure`. */
export interface JsonPart {
  kind: "structure" | "name" | "string";
  /** As it is written. An escape is never cut. */
  text: string;
  /** It reaches the closing quotation mark. */
  ends: boolean;
}

/** One object or array that is open: an object has the name of its current field, an array an index. */
interface Level {
  at: string | number;
  /** In an object, what comes is a name. */
  expectsName: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Cuts a JSON text into structure and strings. It judges nothing but the depth: what is wrong with a text is still wrong when its strings
 * are replaced by others, and `JSON.parse` will say so.
 *
 * The long strings are passed over by the platform's own search; only structure is walked character by character.
 */
export class JsonScanner {
  readonly #maxDepth: number;
  readonly #levels: Level[] = [];
  /** The string that is open. */
  #open: "name" | "string" | undefined;
  #name = "";
  /** An escape that the last piece cut. */
  #rest = "";

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** Where the current value stands. */
  get path(): JsonPath {
    return this.#levels.map((level) => level.at);
  }

  /**
   * The parts of the text's next piece.
   * @throws JsonBodyError `too_deep`; `not_json` where brackets close that were not open, or a name is none.
   */
  *parts(piece: string): Generator<JsonPart, void> {
    const text = this.#rest + piece;
    this.#rest = "";
    let from = 0;
    let at = 0;
    for (;;) {
      if (!this.#open) {
        at = this.#structure(text, at);
        if (at > from) yield { kind: "structure", text: text.slice(from, at), ends: false };
        if (at === text.length) return;
      }
      const quote = closingQuote(text, at);
      const end = quote === -1 ? startOfCutEscape(text, at) : quote;
      yield this.#string(text.slice(at, end), quote !== -1);
      if (quote === -1) {
        this.#rest = text.slice(end);
        return;
      }
      this.#open = undefined;
      from = quote; // the mark belongs to the structure that follows
      at = quote + 1;
    }
  }

  #string(text: string, ends: boolean): JsonPart {
    if (this.#open === "string") return { kind: "string", text, ends };
    this.#name += text;
    // Decoded at once, which also makes it a string of its own: a slice would keep the whole piece in memory.
    if (ends) this.#levels.at(-1)!.at = decodeString(this.#name);
    return { kind: "name", text, ends };
  }

  /** Walks to behind the next opening quotation mark, or to the end. */
  #structure(text: string, start: number): number {
    for (let at = start; at < text.length; at++) {
      switch (text.charCodeAt(at)) {
        case QUOTE:
          this.#open = this.#levels.at(-1)?.expectsName ? "name" : "string";
          this.#name = "";
          return at + 1;
        case 0x7b: // {
          this.#push({ at: "", expectsName: true });
          break;
        case 0x5b: // [
          this.#push({ at: 0, expectsName: false });
          break;
        case 0x7d: // }
        case 0x5d: // ]
          if (!this.#levels.pop()) throw new JsonBodyError("not_json");
          break;
        case 0x3a: // :
        case 0x2c: // ,
          this.#next(text.charCodeAt(at) === 0x2c);
          break;
      }
    }
    return text.length;
  }

  #push(level: Level): void {
    if (this.#levels.length >= this.#maxDepth) throw new JsonBodyError("too_deep");
    this.#levels.push(level);
  }

  #next(isComma: boolean): void {
    const level = this.#levels.at(-1);
    if (typeof level?.at === "string") level.expectsName = isComma;
    else if (level && isComma) level.at++;
  }
}

/**
 * What a string, or a part of one, says.
 * @param written the text between its quotation marks, without half an escape.
 * @throws JsonBodyError `not_json` for an escape that is none, and for control characters.
 */
export function decodeString(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch (cause) {
    throw new JsonBodyError("not_json", { cause });
  }
}

/** The first quotation mark that no backslash makes a part of the string, or -1. */
function closingQuote(text: string, from: number): number {
  let quote = text.indexOf('"', from);
  while (quote !== -1 && backslashesBefore(text, quote, from) % 2 === 1) {
    let at = quote + 1;
    while (text.charCodeAt(at) === BACKSLASH) at += 2; // where escapes follow one another, a search for each would be slow
    quote = text.indexOf('"', at);
  }
  return quote;
}

/** Where the escape begins that the end of the text cuts, or that end. The longest, `\u0000`, has six characters. */
function startOfCutEscape(text: string, from: number): number {
  const tail = Math.max(from, text.length - 5);
  const last = tail + text.slice(tail).lastIndexOf("\\");
  if (last < tail || backslashesBefore(text, last, from) % 2 === 1) return text.length;
  return last + 1 === text.length || text[last + 1] === "u" ? last : text.length;
}

function backslashesBefore(text: string, at: number, from: number): number {
  let start = at;
  while (start > from && text.charCodeAt(start - 1) === BACKSLASH) start--;
  return at - start;
}
