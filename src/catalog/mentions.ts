/** Characters named in a prompt. Pure. */

/** The word that means the account's newest character. */
export const newestCharacter = "character";

/** An @ that does not follow a letter, digit or the like (that would be an e-mail address), then a name that ends in a letter or digit. */
const mention = /(?<![\p{L}\p{N}_.+@-])@([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)/gu;

/** The user names mentioned in a prompt, in lower case, each once, in their order. */
export const mentionsIn = (prompt: string): string[] => [...new Set([...prompt.matchAll(mention)].map((match) => match[1]!.toLowerCase()))];
