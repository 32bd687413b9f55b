/** Characters mentioned in a prompt. Pure. */

/** The name of the account's newest character. */
export const newestCharacter = "character";

/** The usernames mentioned in a prompt, in lower case, each once, in their order. */
export function mentionsIn(prompt: string): string[] {
  // An @ that is not preceded by a character of an e-mail address, then a name that ends in a letter or digit. Chinese, Japanese and Korean
  // write no space between a word and a name. Inside the function, because its scripts would be looked up twice at each start of the Worker.
  const mention = /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}_.+@-])@([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?)/gu;
  return [...new Set([...prompt.matchAll(mention)].map(([, name = ""]) => name.toLowerCase()))];
}
