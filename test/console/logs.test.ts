/** The console's log of requests: filters, search, pages, and that an account sees only its own requests. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { writeRequests } from "../../src/db/requests.ts";
import { asAdmin } from "../support/gateway.ts";
import { Browser } from "./support.ts";

const page = "/console/logs";

async function person(): Promise<{ browser: Browser; id: string; keyId: string }> {
  const browser = new Browser();
  const email = await browser.signUp();
  const { body } = await asAdmin(`/accounts?email=${encodeURIComponent(email)}`);
  const { id } = body.data[0];
  const key = await asAdmin(`/accounts/${id}/keys`, { body: { name: "A <program>", quota: null } });
  return { browser, id, keyId: key.body.id };
}

const rows = (text: string) => [...text.matchAll(/id="row-([\w-]+)"/g)].map(([, id]) => id);

test("requests are listed with status, key and id, found by filters, and belong to their account", async () => {
  const [mine, other] = [await person(), await person()];
  expect(await mine.browser.read(page)).toContain("No requests yet");
  const now = Date.now();
  const request = (name: string, status: number, more: object = {}) => ({
    account: mine.id,
    at: now - 1000 * name.charCodeAt(0),
    request: `request-${name}`,
    path: "POST /v1/images/generations",
    status,
    outcome: status < 400 ? "ok" : "insufficient_quota",
    ms: 1234,
    key: mine.keyId,
    ...more,
  });
  await writeRequests(env.DB, [
    request("c", 200, { key: "key_gone", path: "GET /v1/tasks/task_1" }),
    request("b", 402, { model: "imgA-4" }),
    request("a", 503),
  ]);
  const all = await mine.browser.read(page);
  expect(rows(all)).toEqual(["request-a", "request-b", "request-c"]);
  for (const shown of ["402", "insufficient_quota", "imgA-4", "A &lt;program&gt;", "Deleted key", "1.23 s", "/v1/tasks/task_1"])
    expect(all).toContain(shown);
  const found = async (query: string) => rows(await mine.browser.read(`${page}?${query}`));
  expect(await found("result=refused")).toEqual(["request-b"]);
  expect(await found("result=failed")).toEqual(["request-a"]);
  expect(await found("result=succeeded")).toEqual(["request-c"]);
  expect(await found(`key=${mine.keyId}`)).toEqual(["request-a", "request-b"]);
  expect(await found("text=request-c")).toEqual(["request-c"]);
  const none = await mine.browser.read(`${page}?text=${encodeURIComponent('"><script>')}&result=failed`);
  expect(none).toContain("No such requests");
  expect(none).not.toContain('"><script>');
  expect(rows(await other.browser.read(page))).toEqual([]);
  expect((await new Browser().ask(page)).headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Flogs");
});

test("older requests are on further pages; the newest refresh themselves on request", async () => {
  const { browser, id } = await person();
  const now = Date.now();
  const entry = (at: number) => ({
    account: id,
    at: now - 1000 * at,
    request: `r${at}`,
    path: "GET /v1/balance",
    status: 200,
    outcome: "ok",
    ms: 2,
  });
  await writeRequests(
    env.DB,
    Array.from({ length: 120 }, (_, at) => entry(119 - at)),
  );
  const seen: (string | undefined)[] = [];
  let path: string | undefined = page;
  while (path) {
    const text = await browser.read(path);
    seen.push(...rows(text));
    path = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen).toEqual(Array.from({ length: 120 }, (_, at) => `r${at}`));
  expect(await browser.read(page)).not.toContain("hx-trigger");
  expect(await browser.read(`${page}?live=on`)).toContain('hx-trigger="every 5s"');
});
