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

  constructor(reason: JsonBodyProblem, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}
