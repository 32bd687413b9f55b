/** The languages of sentences, and which of them a caller wants. */

export const languages = ["en", "zh", "ko", "ja"] as const;
export type Language = (typeof languages)[number];

/** What ends a sentence that another one follows: Chinese and Japanese have a full stop of their own, and no space after it. */
export const sentenceEnds: Record<Language, string> = { en: ". ", zh: "。", ko: ". ", ja: "。" };

const isLanguage = (text: string): text is Language => languages.includes(text as Language);

/** `?language=`, else the best of `Accept-Language`, else English. */
export function chooseLanguage(query: string | undefined, acceptLanguage: string | undefined): Language {
  if (query !== undefined && isLanguage(query)) return query;
  if (!acceptLanguage || acceptLanguage === "*") return "en";
  const ranked = acceptLanguage
    .slice(0, 500)
    .split(",")
    .map((item) => {
      const [tag = "", ...parameters] = item
        .trim()
        .toLowerCase()
        .split(/\s*;\s*/);
      const q = parameters.find((parameter) => parameter.startsWith("q="));
      const [language = ""] = tag.split("-", 1);
      return { language, weight: q ? Number(q.slice(2)) || 0 : 1 };
    })
    .filter(({ language, weight }) => weight > 0 && isLanguage(language))
    .sort((a, b) => b.weight - a.weight);
  return (ranked[0]?.language as Language | undefined) ?? "en";
}
