/** Which language a page is in: the browser's, or what its user chose. */

import { expect, test } from "./support/test.ts";

const languages = [
  { language: "zh", locale: "zh-CN", own: "中文", signIn: "登录", keys: "API 密钥" },
  { language: "ko", locale: "ko-KR", own: "한국어", signIn: "로그인", keys: "API 키" },
  { language: "ja", locale: "ja-JP", own: "日本語", signIn: "ログイン", keys: "API キー" },
];

test.for(languages)("a browser that prefers $locale is answered in $language", async ({ language, locale, signIn }, { visitor }) => {
  const page = await visitor({ locale });
  await page.goto("/console/sign-in");
  await page.getByRole("heading", { name: signIn, exact: true }).waitFor();
  expect(await page.locator("html").getAttribute("lang")).toBe(language);
});

test("a chosen language stays, whatever the browser prefers", async ({ signedIn }) => {
  const page = await signedIn({ locale: "en-US" });
  for (const { language, own, keys } of languages) {
    await page.getByRole("link", { name: own, exact: true }).click();
    await page.getByRole("link", { name: keys, exact: true }).click();
    await page.getByRole("heading", { name: keys, exact: true }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe(language);
    expect(await page.locator("[aria-current=true]").innerText()).toBe(own);
  }
});
