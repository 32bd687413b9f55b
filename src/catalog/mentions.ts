/** Characters mentioned in a prompt. Pure. */

import { once } from "../base/once.ts";

/** The name of the account's newest character. */
export const newestCharacter = "character";

/**
 * An @ that is not preceded by a character of an e-mail address, then a name that ends in a letter or digit. Chinese,
 * Japanese and Korean write no space between a word and a name. Not a literal, which the parser would check at each start.
 */
const mention = once(
  () =>
    new RegExp(
      String.raw`(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_.+@-])@([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)`,
      "gu",
    ),
);

/** The usernames mentioned in a prompt, in lower case, each once, in their order. */
export const mentionsIn = (prompt: string): string[] => [
  ...new Set([...prompt.matchAll(mention())].map(([, name = ""]) => name.toLowerCase())),
];
