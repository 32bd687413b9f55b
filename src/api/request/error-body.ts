/** Builds the `error` object of an answer from an error and a language. */

import { type ApiError, statusAndType, type Violation } from "../../base/errors.ts";
import { type Language, t } from "../../messages/index.ts";

const describeViolation = (language: Language, violation: Violation) => t(language, violation.rule, violation.values);

/** The details of an error. */
export const describeViolations = (violations: readonly Violation[], language: Language) =>
  violations.map((violation) => ({
    param: violation.param,
    message: describeViolation(language, violation),
    ...(violation.allowed !== undefined && { allowed: violation.allowed }),
  }));

/** Message and param are those of the first violation; all are in the details. */
export function errorBody(error: ApiError, language: Language) {
  const [first] = error.violations;
  const isAboutField = first && error.code !== "model_not_available";
  return {
    message: isAboutField
      ? t(language, "violated", { param: first.param, reason: describeViolation(language, first) })
      : t(language, error.sentence?.key ?? error.code, error.sentence?.values),
    type: statusAndType(error.code).type,
    code: error.code,
    param: first?.param ?? null,
    ...(error.violations.length > 0 && {
      details: describeViolations(error.violations, language),
    }),
  };
}
