/** The one way in which reading a JSON body fails. */

/**
 * - `too_large` the body, or what remains of it without its images, has more bytes than allowed
 * - `not_json` no valid UTF-8, or no valid JSON
 * - `too_deep` objects and arrays are nested deeper than allowed
 * - `interrupted` the body broke off
 */
export type JsonBodyProblem = "too_large" | "not_json" | "too_deep" | "interrupted";

/** Thrown for everything that can be wrong with a body. Its message holds nothing of the body. */
export class JsonBodyError extends Error {
  override readonly name = "JsonBodyError";
  readonly reason: JsonBodyProblem;

  constructor(reason: JsonBodyProblem, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
  }
}
