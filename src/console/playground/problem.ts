/** Violated rules of a field as whole sentences: the API's `is required` becomes `Prompt is required.` Pure. */

import { sentenceEnds } from "../../messages/language.ts";
import type { Language } from "../messages.ts";

/** Whether a rule can follow the subject directly; otherwise a colon stands between them. */
const follows: Record<Language, (rule: string) => boolean> = {
  en: (rule) => /^(is|must|may|has|names) /.test(rule),
  // A rule that begins with a subject of its own.
  zh: (rule) => /^(?!该|这|模型|之前)\p{Script=Han}/u.test(rule),
  // The particle depends on the subject's last sound.
  ko: () => false,
  // A rule with a topic of its own.
  ja: (rule) => !/^[\w@]|は/.test(rule),
};

const links: Record<Language, string> = { en: " ", zh: "", ko: ": ", ja: "は" };
const colons: Record<Language, string> = { en: ": ", zh: "：", ko: ": ", ja: "：" };

/** The sentence about a violated rule. `subject` is the field's label, or the name of an item: `Image 2`. */
export function toSentence(language: Language, subject: string, rule: string): string {
  const stop = /[.。]$/.test(rule) ? "" : sentenceEnds[language].trim();
  return subject + (follows[language](rule) ? links : colons)[language] + rule + stop;
}
