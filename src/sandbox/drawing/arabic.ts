/** Arabic letters in the forms in which they join their neighbours: Unicode's presentation forms, which the font has as glyphs. */

// In order: U+0621 to U+063A, then U+0641 to U+064A. Two forms (isolated, final) or four (and initial, medial); the hamza has one.
const formCounts = "122224242444442222444444444444444224";
const firstForm = 0xfe80;

/** Letters of Persian and Urdu: the letter, its first form, the number of forms. */
const others: readonly [number, number, number][] = [
  [0x679, 0xfb66, 4],
  [0x67e, 0xfb56, 4],
  [0x686, 0xfb7a, 4],
  [0x688, 0xfb88, 2],
  [0x691, 0xfb8c, 2],
  [0x698, 0xfb8a, 2],
  [0x6a9, 0xfb8e, 4],
  [0x6af, 0xfb92, 4],
  [0x6ba, 0xfb9e, 2],
  [0x6be, 0xfbaa, 4],
  [0x6c1, 0xfba6, 4],
  [0x6cc, 0xfbfc, 4],
  [0x6d2, 0xfbae, 2],
];

interface Forms {
  first: number;
  count: number;
}

const forms = new Map<number, Forms>(others.map(([letter, first, count]) => [letter, { first, count }]));
let next = firstForm;
for (const [at, digit] of Array.from(formCounts).entries()) {
  const letter = at < 26 ? 0x621 + at : 0x641 + at - 26;
  forms.set(letter, { first: next, count: Number(digit) });
  next += Number(digit);
}

/** The ligatures of lam with an alef, by the alef: the first of their two forms. */
const lamAlef = new Map([
  [0x622, 0xfef5],
  [0x623, 0xfef7],
  [0x625, 0xfef9],
  [0x627, 0xfefb],
]);
const lam = 0x644;
/** Joins both neighbours, and has one form. */
const tatweel = 0x640;
const isMark = (code: number) => /\p{M}/u.test(String.fromCodePoint(code));

/** Whether a letter joins the one before it, and the one after it. */
const joins = (code: number | undefined): { before: boolean; after: boolean } => {
  if (code === tatweel) return { before: true, after: true };
  const count = code === undefined ? 0 : (forms.get(code)?.count ?? 0);
  return { before: count >= 2, after: count === 4 };
};

/** Replaces each letter by its form, in the order in which the text is read. Text without Arabic letters stays as it is. */
export function joinArabic(text: string): string {
  if (!/\p{Script=Arabic}/u.test(text)) return text;
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  const joined: number[] = [];
  /** The letter before, of those that are no marks. */
  let before: number | undefined;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (isMark(code)) {
      joined.push(code);
      continue;
    }
    const isJoined = joins(before).after;
    const ligature = code === lam ? lamAlef.get(codes[at + 1] ?? 0) : undefined;
    if (ligature !== undefined) {
      joined.push(ligature + (isJoined ? 1 : 0));
      before = codes[++at];
      continue;
    }
    const { first, count } = forms.get(code) ?? { first: code, count: 1 };
    const after = codes.slice(at + 1).find((one) => !isMark(one));
    const isFollowed = count === 4 && joins(after).before;
    const form = (isFollowed ? 2 : 0) + (isJoined ? 1 : 0);
    joined.push(first + (count === 1 ? 0 : form));
    before = code;
  }
  return String.fromCodePoint(...joined);
}
