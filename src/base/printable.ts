/** Printable text on one line: names and references that callers choose. */

/**
 * Matches 1 to `maximum` characters without control, format or unassigned ones, lone surrogates and line ends. The joiners of words and emoji
 * (U+200C, U+200D) are part of what they follow. Not a literal, which the parser would check at each start.
 */
export const printable = (maximum: number) => new RegExp(String.raw`^(?:[^\p{C}\p{Zl}\p{Zp}]|(?!^)[\u200c\u200d]){1,${maximum}}$`, "u");
