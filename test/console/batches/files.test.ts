/** The console's page of files: uploading, listing, opening and deleting the account's own files. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { holdTime } from "../../support/gateway.ts";
import { Browser, person } from "../support.ts";

beforeEach(holdTime);
afterEach(() => vi.useRealTimers());

const page = "/console/files";

const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, ...crypto.getRandomValues(new Uint8Array(100))]);

function toForm(bytes: string | Uint8Array<ArrayBuffer>, name: string, seconds = "3600"): FormData {
  const form = new FormData();
  form.set("file", new File([bytes], name, { type: "application/octet-stream" }));
  form.set("expires_in", seconds);
  return form;
}

test("a file is uploaded with its name and lifetime, listed, opened and deleted", async () => {
  const { browser } = await person();
  expect(await browser.read(page)).toContain("No file yet");
  const answer = await browser.ask(page, toForm(png, "crane & <b>.png"));
  expect(answer.status, await answer.clone().text()).toBe(303);
  const [, id] = /^\/console\/files\?done=uploaded#(file_[\w-]+)$/.exec(answer.headers.get("location") ?? "") ?? [];
  const html = await browser.read(`${page}?done=uploaded`);
  for (const words of ["crane &amp; &lt;b&gt;.png", "108 B", "in 1 hr", "The file was uploaded.", "PNG", `src="${page}/${id}/content"`])
    expect(html).toContain(words);
  const content = await browser.ask(`${page}/${id}/content`);
  expect([content.headers.get("content-type"), content.headers.get("content-disposition")]).toEqual([
    "image/png",
    "inline; filename*=UTF-8''crane%20%26%20%3Cb%3E.png",
  ]);
  expect(new Uint8Array(await content.arrayBuffer())).toEqual(png);
  const { browser: stranger } = await person();
  for (const place of ["content", "delete"]) expect((await stranger.ask(`${page}/${id}/${place}`)).status).toBe(404);
  expect((await stranger.ask(`${page}/${id}/delete`, {})).status).toBe(404);
  expect(await browser.read(`${page}/${id}/delete`)).toContain("Delete crane &amp; &lt;b&gt;.png?");
  expect((await browser.ask(`${page}/${id}/delete`, {})).headers.get("location")).toBe(`${page}?done=deleted`);
  expect(await browser.read(page)).toContain("No file yet");
  expect((await browser.ask(`${page}/${id}/content`)).status).toBe(404);
});

test("lines of a batch lead to their check; other files and expired ones do not", async () => {
  const { browser } = await person();
  const answer = await browser.ask(page, toForm('{"custom_id": "a"}\n', "lines.jsonl"));
  const id = answer.headers.get("location")?.split("#")[1];
  expect(await browser.read(page)).toContain(`href="/console/batches/new?file=${id}"`);
  expect((await browser.ask(`${page}/${id}/content`)).headers.get("content-disposition")).toMatch(/^attachment/);
  vi.setSystemTime(Date.now() + 3_601_000);
  expect(await browser.read(page)).toContain("No file yet");
});

test("a file that is refused says why, and nothing is stored", async () => {
  const { browser } = await person(new Browser({}, { MAX_FILE_BYTES: "1000" }));
  const cases = [
    [toForm("hello", "a.txt"), 400],
    [toForm(png, "a.png", "5"), 400],
    [toForm(new Uint8Array([...png, ...new Uint8Array(1_000)]), "a.png"), 429],
  ] as const;
  for (const [form, status] of cases) {
    const answer = await browser.ask(page, form);
    expect(answer.status).toBe(status);
    expect(await answer.text()).toMatch(/role="alert"/);
  }
  const plain = await browser.ask(page, { file: "x" });
  expect(plain.status).toBe(400);
  expect(await browser.read(page)).toContain("No file yet");
});

test("older files are on further pages", async () => {
  const { browser } = await person();
  for (let at = 0; at < 51; at++) {
    await browser.ask(page, toForm(`{"custom_id": "${at}-${crypto.randomUUID()}"}\n`, `lines-${at}.jsonl`));
    vi.setSystemTime(Date.now() + 1_000);
  }
  const html = await browser.read(page);
  expect(html).toContain("lines-50.jsonl");
  expect(html).not.toContain("lines-0.jsonl");
  const [, older = ""] = /href="([^"]*\?after=[^"]*)"/.exec(html) ?? [];
  expect(await browser.read(older)).toContain("lines-0.jsonl");
});
