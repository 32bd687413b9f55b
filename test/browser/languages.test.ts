/** A page's language: the browser's, or the one the user chose. */

import { openMenu } from "./support/account-menu.ts";
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

test("a chosen language is kept, whatever the browser prefers", async ({ signedIn }) => {
  const page = await signedIn({ locale: "en-US" });
  for (const { language, own, keys } of languages) {
    await (await openMenu(page)).getByRole("link", { name: own, exact: true }).click();
    await page.getByRole("link", { name: keys, exact: true }).click();
    await page.getByRole("heading", { name: keys, exact: true }).waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe(language);
    expect(await page.locator("a[hreflang][aria-current=true]").textContent()).toBe(own);
  }
});

test("the language can be changed while a task runs: the page stays, the task continues, and is cancelled in the new language", async ({
  signedIn,
}) => {
  const page = await signedIn();
  await page.goto("/console/playground");
  await page.getByLabel("Model", { exact: true }).selectOption("imgB-4o-image");
  await page.waitForURL("**/console/playground?model=imgB-4o-image");
  await (await openMenu(page)).getByRole("link", { name: "한국어", exact: true }).click();
  await page.getByRole("heading", { name: "플레이그라운드", exact: true }).waitFor();
  expect(await page.locator("main select[name=model]").inputValue()).toBe("imgB-4o-image");

  await page.locator("[name=prompt]").fill("천천히 sandbox:slow");
  await page.locator("button[value=run]").click();
  await page.waitForURL("**/console/playground?run=task_*");
  const address = page.url();
  await (await openMenu(page)).getByRole("link", { name: "日本語", exact: true }).click();
  await page.locator("html[lang=ja]").waitFor();
  expect(page.url()).toBe(address);
  // The live part of the page is in the new language too.
  const part = address.replace("?run=", "/runs/");
  await page.waitForResponse((response) => response.url() === part && response.request().headers()["hx-request"] === "true");
  await page.getByRole("status").getByText("処理中").waitFor();
  await page.locator("#state button").click();
  await page.locator("#result").getByText("請求はありません").waitFor();
  expect(page.url()).toBe(address);
});
