/** Scans a JSON text piece by piece and reports which part belongs to which string and path of the document. */

import { JsonBodyError } from "./json-error.ts";

/**
 * The maximum number of values in a JSON text: its commas and opening brackets, so that an empty list or object counts as two. Two
 * thousand messages with tool calls and five hundred tools have about half as many.
 */
export const maxValues = 100_000;
/** The maximum length of a list of a request. */
export const maxListLength = 2_048;

/** Path from the document's root: field names and array indexes. */
export type JsonPath = readonly (string | number)[];

/** A part of the text: the inside of a `string` or of a field's `name`; everything else, quotation marks included, is `structure`. */
export interface JsonPart {
  kind: "structure" | "name" | "string";
  /** As written. Escapes are never cut. */
  text: string;
  /** Whether this part ends at the closing quotation mark. */
  ends: boolean;
}

/** An open object, with the name of its current field, or an open array, with its current index. */
interface Level {
  at: string | number;
  /** Whether the next string of the object is a field name. */
  expectsName: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Cuts a JSON text into structure and strings. It checks only the depth and the number of values: a text that is malformed stays malformed
 * when its strings are replaced, so `JSON.parse` reports it later.
 *
 * Long strings are skipped with `indexOf`; only structure is read character by character.
 */
export class JsonScanner {
  readonly #maxDepth: number;
  readonly #levels: Level[] = [];
  #values = 0;
  /** The string that has not ended yet. */
  #open: "name" | "string" | undefined;
  #name = "";
  /** The start of an escape at the end of the last piece. */
  #rest = "";

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth;
  }

  /** Path of the current value. */
  get path(): JsonPath {
    return this.#levels.map((level) => level.at);
  }

  /**
   * The parts of the text's next piece.
   * @throws JsonBodyError `too_complex`; `not_json` for unbalanced brackets or a malformed name.
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
    // Decoded at once, which also makes a copy: a slice would keep the whole piece in memory.
    const level = this.#levels.at(-1);
    if (ends && level) level.at = decodeString(this.#name);
    return { kind: "name", text, ends };
  }

  /** Moves behind the next opening quotation mark, or to the end. */
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
    this.#levels.push(level);
    this.#count();
  }

  #count(): void {
    if (this.#levels.length > this.#maxDepth) throw new JsonBodyError("too_complex");
    if (++this.#values > maxValues) throw new JsonBodyError("too_complex", undefined, this.#longList());
  }

  /** The path of the first open list that is longer than any list of a request may be. */
  #longList(): JsonPath | undefined {
    const at = this.#levels.findIndex((level) => typeof level.at === "number" && level.at >= maxListLength);
    return at === -1 ? undefined : this.path.slice(0, at);
  }

  #next(isComma: boolean): void {
    if (isComma) this.#count();
    const level = this.#levels.at(-1);
    if (typeof level?.at === "string") level.expectsName = isComma;
    else if (level && isComma) level.at++;
  }
}

/**
 * Decodes the escapes of a string or of a part of one.
 * @param written the text between its quotation marks, without half an escape.
 * @throws JsonBodyError `not_json` for an invalid escape or a control character.
 */
export function decodeString(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string;
  } catch (cause) {
    throw new JsonBodyError("not_json", { cause });
  }
}

/** Index of the first quotation mark that is not escaped, or -1. */
export function closingQuote(text: string, from: number): number {
  let quote = text.indexOf('"', from);
  while (quote !== -1 && backslashesBefore(text, quote, from) % 2 === 1) {
    let at = quote + 1;
    while (text.charCodeAt(at) === BACKSLASH) at += 2; // where escapes follow one another, a search for each would be slow
    quote = text.indexOf('"', at);
  }
  return quote;
}

/** Index of an escape that the end of the text cuts, or the text's length. The longest escape, `\u0000`, has six characters. */
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
