/** Every sentence a caller can read, in four languages. Codes and fields never change with the language. */

import en from "./en.ts";
import ja from "./ja.ts";
import ko from "./ko.ts";
import zh from "./zh.ts";

const languages = ["en", "zh", "ko", "ja"] as const;
export type Language = (typeof languages)[number];
type MessageKey = keyof typeof en;

const tables: Record<Language, Record<MessageKey, string>> = { en, zh, ko, ja };

/** The sentence of a key with its `{placeholders}` filled. A key without a sentence is a mistake of ours and reads as itself. */
export function t(language: Language, key: string, values: Record<string, string | number> = {}): string {
  const sentence = tables[language][key as MessageKey] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

const isLanguage = (text: string): text is Language => languages.includes(text as Language);

/** `?language=`, else the best of `Accept-Language`, else English. */
export function chooseLanguage(query: string | undefined, acceptLanguage: string | undefined): Language {
  if (query !== undefined && isLanguage(query)) return query;
  if (!acceptLanguage) return "en";
  const ranked = acceptLanguage
    .slice(0, 500)
    .split(",")
    .map((item) => {
      const [tag = "", ...parameters] = item.trim().toLowerCase().split(";");
      const q = parameters.find((parameter) => parameter.trim().startsWith("q="));
      return { language: tag.replace(/-.*/s, ""), weight: q ? Number(q.trim().slice(2)) || 0 : 1 };
    })
    .filter(({ language, weight }) => weight > 0 && isLanguage(language))
    .sort((a, b) => b.weight - a.weight);
  return (ranked[0]?.language as Language | undefined) ?? "en";
}
