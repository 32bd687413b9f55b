/** Every sentence of the console, in four languages. */

import { type Language, languageOf } from "../views/messages.ts";
import en from "./messages.en.ts";
import ja from "./messages.ja.ts";
import ko from "./messages.ko.ts";
import zh from "./messages.zh.ts";

type Key = keyof typeof en;

const tables: Record<Language, Record<Key, string>> = { en, zh, ko, ja };

/** How the languages call themselves. */
export const languageNames: Record<Language, string> = { en: "English", zh: "中文", ko: "한국어", ja: "日本語" };

export type Say = (key: Key, values?: Record<string, string | number>) => string;

/** Says sentences in a language, their `{placeholders}` filled. */
export const speakerOf =
  (language: Language): Say =>
  (key, values = {}) =>
    tables[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));

export { type Language, languageOf };
