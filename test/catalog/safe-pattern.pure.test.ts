/** Patterns of schemas: those whose time could grow exponentially with a text are refused. */

import { expect, test } from "vitest";
import { isSafePattern } from "../../src/catalog/safe-pattern.ts";

test.each([
  "^[a-z]+$",
  String.raw`^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2})?$`,
  "^(?:png|jpg)$",
  "^(?:1:1|16:9|9:16)?$",
  String.raw`^https?:\/\/[^\s/$.?#].[^\s]*$`,
  "^(ab)+$",
  "^(?:a{2}){3}$",
  String.raw`^[(*+?|)]+\(\*\)$`,
  String.raw`^\p{L}+\u{61}*$`,
  "^(?<year>[0-9]{4})$",
  "^(?!none$)[a-z]+$",
])("%s is accepted", (pattern) => expect(isSafePattern(pattern)).toBe(true));

test.each([
  "^(a+)+$",
  "^(?:(?:a+)b?)+$",
  "^((a)+b?)+$",
  "^(?:a?a?)+$",
  "^(?:a|a)*$",
  "^((a|b))+$",
  "^(?:a{1,9}){2,}$",
  "^(?:a+){9}$",
  "^((?:a+)?)*$",
  "^(?:[(]a*)+$",
  "^(?=(a+))+$".replace("?=", "?:"),
  "^(?<word>a+)*$",
  String.raw`^(?:\(a+\))*$`,
  String.raw`^(a)\1$`,
  String.raw`^(?<a>b)\k<a>$`,
  "(",
  "a".repeat(501),
  5,
])("%s is refused", (pattern) => expect(isSafePattern(pattern)).toBe(false));
