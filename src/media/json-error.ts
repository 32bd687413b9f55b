/** The error of reading a JSON body, with a closed set of reasons. */

/**
 * - `too_large` the body, or what remains of it without its images, has more bytes than allowed
 * - `not_json` invalid UTF-8 or JSON
 * - `too_complex` its values are nested deeper, or are more, than allowed
 * - `interrupted` the body broke off
 */
export type JsonBodyProblem = "too_large" | "not_json" | "too_complex" | "interrupted";

/** Thrown for everything that can be wrong with a body. The message contains no part of the body. */
export class JsonBodyError extends Error {
  override readonly name = "JsonBodyError";
  readonly reason: JsonBodyProblem;
  /** With `too_complex`: the path of a list that is longer than a list may be, if there is one. */
  readonly list: readonly (string | number)[] | undefined;

  constructor(reason: JsonBodyProblem, options?: ErrorOptions, list?: readonly (string | number)[]) {
    super(reason, options);
    this.reason = reason;
    this.list = list;
  }
}
