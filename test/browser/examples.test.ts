/** The example of a page with a client token, in a real browser: another origin than the gateway's, so every request is a cross-origin one. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { expect, test } from "./support/test.ts";

const server = fileURLToPath(new URL("../../examples/browser/server.mjs", import.meta.url));

test("a page makes two images with a token, and gets an error when the token is used up", async ({ browser, gateway }) => {
  const env = { ...process.env, BASE_URL: gateway.baseUrl, API_KEY: gateway.account.apiKey, PORT: "0" };
  const site = spawn(process.execPath, [server], { env, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void site.kill());
  let output = "";
  for await (const text of site.stdout.setEncoding("utf8")) {
    output += String(text);
    if (output.includes("\n")) break;
  }
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const answers: string[] = [];
  page.on("response", (response) => {
    if (response.url().startsWith(gateway.baseUrl)) answers.push(`${response.request().method()} ${response.status()}`);
  });
  await page.goto(/http:\S+/.exec(output)![0]);
  const status = page.getByRole("status");
  for (const prompt of ["A quay", "A harbour"]) {
    await page.getByLabel("What shall it show?").fill(prompt);
    await page.getByRole("button").click();
    await page.getByRole("img", { name: prompt }).waitFor({ timeout: 40_000 });
    expect(await status.innerText()).toBe("Done");
    expect(await page.getByRole("img").evaluate((image: HTMLImageElement) => image.decode().then(() => image.naturalWidth))).toBe(1024);
  }
  await page.getByRole("button").click();
  await expect.poll(() => status.innerText()).toContain("too little money left");
  expect(answers.filter((answer) => answer.startsWith("POST"))).toEqual(["POST 200", "POST 200", "POST 403"]);
  expect(await page.content()).not.toContain("sk-");
});
