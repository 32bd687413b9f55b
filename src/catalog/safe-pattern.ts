/** Patterns of schemas are tested on callers' texts: one whose time grows exponentially with the text would stop the gateway. Pure. */

const maxLength = 500;

/** True for a valid pattern without references back and without a repeated group in which something is repeated, optional or an alternative. */
export function isSafePattern(value: unknown): boolean {
  if (typeof value !== "string" || value.length > maxLength) return false;
  try {
    void new RegExp(value, "u");
  } catch {
    return false;
  }
  return isLinear(value);
}

/** Such groups can match one text in exponentially many ways: `(a+)+`, `((a)+b?)+`, `(?:a?a?)+`, `(a|a)*`. Reads a valid pattern. */
function isLinear(pattern: string): boolean {
  /** For each open group whether its body has a choice: a quantifier or alternatives, at any depth. */
  const groups = [false];
  let followsChoice = false;
  for (let at = 0; at < pattern.length; at++) {
    const letter = pattern[at]!;
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(pattern.slice(at))?.[0];
    if (quantifier !== undefined) {
      if (followsChoice && quantifier !== "?" && quantifier !== "??") return false;
      if (!/^\{(\d+)\}/.test(quantifier)) groups[groups.length - 1] = true;
      at += quantifier.length - 1;
      followsChoice = false;
    } else if (letter === "\\") {
      if (/^\\[1-9k]/.test(pattern.slice(at, at + 2))) return false;
      followsChoice = false;
      at++;
    } else if (letter === "[") {
      for (at++; pattern[at] !== "]"; at++) if (pattern[at] === "\\") at++;
      followsChoice = false;
    } else if (letter === "(") {
      groups.push(false);
      at += /^\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/.exec(pattern.slice(at))![0].length - 1;
      followsChoice = false;
    } else if (letter === ")") {
      const hasChoice = groups.pop() === true;
      if (hasChoice) groups[groups.length - 1] = true;
      followsChoice = hasChoice;
    } else {
      if (letter === "|") groups[groups.length - 1] = true;
      followsChoice = false;
    }
  }
  return true;
}
