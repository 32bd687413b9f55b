/** `/openapi.json`: the API description, which the gateway forwards to the console. */

import { expect, test } from "vitest";
import document from "../../../src/console/site/openapi.json";
import { Browser } from "../support.ts";

const path = "/openapi.json";

test("the description is the generated file, open to every origin and without a key", async () => {
  const answer = await new Browser().ask(path);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("application/json");
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(await answer.json()).toEqual(document);
});

test("a client that already has the description gets 304", async () => {
  const browser = new Browser();
  const etag = (await browser.ask(path)).headers.get("etag")!;
  expect(etag).toMatch(/^W\/"[\w-]{43}"$/);
  for (const tags of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
    const answer = await browser.ask(path, undefined, null, { "if-none-match": tags });
    expect(answer.status).toBe(304);
    expect(answer.headers.get("etag")).toBe(etag);
    expect(await answer.text()).toBe("");
  }
  expect((await browser.ask(path, undefined, null, { "if-none-match": '"other"' })).status).toBe(200);
});

test("the description accepts no other methods than reading", async () => {
  const answer = await new Browser().ask(path, "{}");
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("GET, HEAD");
});
