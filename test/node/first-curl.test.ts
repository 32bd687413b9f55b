/** The first request is the same text wherever a newcomer meets it. */

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { firstCurl } from "../../scripts/support/first-curl.ts";

test.each([
  ["src/console/site/docs/landing.md", "https://gateway.example"],
  ["src/console/site/docs/index.md", "https://gateway.example"],
  ["README.md", "http://127.0.0.1:8787"],
])("%s has the four lines of `npm start`", (file, base) => {
  expect(firstCurl(base).split("\n")).toHaveLength(4);
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toContain(firstCurl(base));
});

test("`npm start` prints them with its own address and key, and no other request", () => {
  const script = readFileSync(new URL("../../scripts/start.ts", import.meta.url), "utf8");
  expect(script).toContain("${firstCurl(baseUrl, account.apiKey)}");
  expect(script).not.toContain("curl $");
});
