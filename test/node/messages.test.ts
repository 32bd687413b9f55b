/** The translations follow the rules of their languages. */

import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { languages } from "../../src/messages/language.ts";

const source = (path: string) => readFileSync(new URL(`../../src/${path}`, import.meta.url), "utf8");

const files = [
  ...languages.filter((language) => language !== "en").map((language) => `messages/${language}.ts`),
  "facades/openai/messages.ts",
  ...readdirSync(new URL("../../src/console/messages", import.meta.url)).map((name) => `console/messages/${name}`),
];
/** Every sentence, with its file. The script tells the language; Japanese without kana counts as Chinese. */
const sentences = files.flatMap((file) =>
  [...source(file).matchAll(/"((?:[^"\\]|\\.)*)"|'([^'\n]*)'/g)].map(
    ([, double, single = ""]) => `${file}: ${(double ?? single).replaceAll("\\n", "\n")}`,
  ),
);
const korean = sentences.filter((text) => /\p{sc=Hang}/u.test(text));
const japanese = sentences.filter((text) => /[\p{sc=Hira}\p{sc=Kana}]/u.test(text));
const chinese = sentences.filter((text) => /\p{sc=Han}/u.test(text) && !japanese.includes(text));

test.each([
  ["Chinese", chinese, /你|帐|账号|警报|变更|末帧|邮箱|调用者|运营者|JSON 行|reference 图片|毛利|到期时间/],
  ["Korean", korean, /당신|인증 정보|(?<!이)메일|JSON 줄|reference 이미지|공개 https?/],
  [
    "Japanese",
    japanese,
    /利用者|所有者|運用者|(?<!その)他の|アップストリーム|価格|〜|エントリ(?!ー)|JSON 行|reference 画像|本日|粗利|公開 https?/,
  ],
])("one concept has one name: %s", (_, texts, otherNames) => {
  expect(texts.length).toBeGreaterThan(1000);
  expect(texts.filter((text) => otherNames.test(text))).toEqual([]);
});

test("an English apostrophe in the console has one form", () => {
  expect(sentences.filter((text) => /[a-z]'[a-z]/i.test(text))).toEqual([]);
});

test("the guide and the description name every language", () => {
  const guide = source("console/site/docs/languages.md");
  const { info } = JSON.parse(source("console/site/openapi.json")) as { info: { description: string } };
  for (const language of languages)
    expect([guide, info.description]).toEqual([expect.stringContaining(`"${language}"`), expect.stringContaining(`\`${language}\``)]);
});

test("a Korean particle fits the last sound of its word, and names both forms after a placeholder", () => {
  expect(korean.filter((text) => /\}(을|를|은|는|이|가|와|과|로|으로|이라는|라는)(?=[\s.,:]|$)/.test(text))).toEqual([]);
  const terms =
    /(한도|예산|잔액|작업|배치|계정|키|모델|경로|토큰|구성원|제공자|제작사|운영자|파일|이미지|캐릭터|웹훅|링크)([을를은는이가와과])(?=[\s.,]|$)/g;
  const fits = (word: string, particle: string) =>
    ((word.codePointAt(word.length - 1)! - 0xac00) % 28 > 0 ? "을은이과" : "를는가와").includes(particle);
  expect(korean.filter((text) => [...text.matchAll(terms)].some(([, word = "", particle = ""]) => !fits(word, particle)))).toEqual([]);
});

test("Chinese and Japanese have full-width punctuation, and a space beside Latin letters and digits", () => {
  const wide = "[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}ー]";
  const wrong = new RegExp(`${wide}[,.;:!?()A-Za-z0-9]|[,;!?()A-Za-z0-9]${wide}`, "u");
  expect([...chinese, ...japanese].filter((text) => wrong.test(text))).toEqual([]);
});
