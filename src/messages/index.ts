/** Every sentence a caller can read, in four languages. Codes and fields never change with the language. */

import type en from "./en.ts";
import type { Language } from "./language.ts";
import translations from "./translations.txt";

export type { Language };
type Table = Record<keyof typeof en, string>;

let tables: Record<Language, Table> | undefined;

/** Parsed when the first message is needed: work at an isolate's start would delay its first caller. */
const sentences = (language: Language): Table => (tables ??= JSON.parse(translations) as Record<Language, Table>)[language];

/** The message of a key with its `{placeholders}` filled. A key without a message is an internal mistake, and is returned unchanged. */
export function t(language: Language, key: string, values: Record<string, string | number> = {}): string {
  const sentence = sentences(language)[key as keyof Table] ?? key;
  return sentence.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
