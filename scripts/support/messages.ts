/** The gateway's messages in four languages, as one text file beside its script. */

import type { ErrorCode, FailureCode } from "../../src/base/errors.ts";
import en from "../../src/messages/en.ts";
import ja from "../../src/messages/ja.ts";
import ko from "../../src/messages/ko.ts";
import type { Language } from "../../src/messages/language.ts";
import zh from "../../src/messages/zh.ts";

/** Every error, and every reason of a failed task, has a sentence. */
const english = en satisfies Record<ErrorCode | FailureCode, string>;

/** JSON: a table for each language. A missing translation is a type error. */
export const translations = () =>
  `${JSON.stringify({ en: english, zh, ko, ja } satisfies Record<Language, Record<keyof typeof en, string>>, null, 1)}\n`;
