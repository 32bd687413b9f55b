/** Models with their own input on the public pages and in the console: their prices with all factors, and the playground's kinds. */

import "../../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { findCaller } from "../../../src/db/callers.ts";
import type { Result, Task } from "../../../src/tasks/record.ts";
import { kling, speech } from "../../providers/own/support.ts";
import { crash, openStub } from "../../support/faults.ts";
import { asAdmin, deliver, holdTime, pass, submit, unique } from "../../support/gateway.ts";
import { Browser } from "../support.ts";

holdTime();
/** With a provider that takes own inputs; no request reaches it. */
const newBrowser = () => new Browser({}, { FAL_KEY: "never used" });
const browser = newBrowser();

const newKey = async () =>
  /sk-[0-9A-Za-z]{49}/.exec(await (await browser.ask("/console/keys", { name: "test", quota: "", expires: "" })).text())![0];

/** The text of a page, as it is read. */
const toText = (html: string) => html.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
const open = async (path: string, by = newBrowser()) => {
  const response = await by.ask(path, undefined, null, { accept: "text/html" });
  const text = toText(await response.text());
  expect({ path, status: response.status, text: response.status === 200 ? "" : text }).toEqual({ path, status: 200, text: "" });
  return text;
};

beforeAll(async () => {
  for (const [id, body] of Object.entries({ narrator: speech, kling: { ...kling, aliases: [] } }))
    expect((await asAdmin(`/models/${id}`, { method: "PUT", body })).status).toBe(201);
  await browser.signUp();
});

test.each(["/", "/docs/models"])("%s has their prices with the factors", async (path) => {
  const text = await open(path);
  expect(text).toMatch(/narrator .*\$0\.05 per task/);
  expect(text).toMatch(/kling .*\$0\.10 per second .*× 2 with generate_audio: true/);
  expect(text).not.toContain("× 1 ");
});

test("so have their own pages, in every language", async () => {
  expect(await open("/docs/models/narrator")).toMatch(/per task \$0\.05/);
  expect(await open("/docs/models/kling")).toMatch(/per second \$0\.10 with generate_audio: true × 2/);
  for (const language of ["zh", "ko", "ja"]) expect(await open(`/docs/models/narrator?lang=${language}`)).toContain("$0.05");
});

test("the console lists them, and the playground has a kind for files and the lowest price of each", async () => {
  expect(await open("/console/models", browser)).toMatch(/narrator .*\$0\.05 per task/);
  expect(await open("/console/models/kling", browser)).toContain("× 2");
  const text = await open("/console/playground?model=narrator", browser);
  expect(text).toContain("Make a file");
  expect(text).toMatch(/narrator about 60 s \$0\.05 a task/);
  expect(text).toMatch(/kling about 90 s from \$0\.10 a second/);
  expect(text).not.toContain("$0.00");
});

test("the operator's list has their prices, too", async () => {
  const account = (await findCaller(env, await newKey()))!.accountId;
  expect((await asAdmin(`/accounts/${account}`, { method: "PATCH", body: { admin: true } })).status).toBe(200);
  const text = await open("/console/admin/models", browser);
  expect(text).toMatch(/narrator .*\$0\.05 per task/);
  expect(text).toMatch(/kling .*× 2 with generate_audio: true/);
});

test("a task's page has what was made beside its images", async () => {
  const key = await newKey();
  const { accountId: id, keyId } = (await findCaller(env, key))!;
  const task = await submit({ id, key, keyId }, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  // Its status is not asked for before its end is changed: the answer would be kept.
  for (let round = 0; round < 4; round++) {
    await deliver(task);
    await pass(task, 5);
  }
  await runInDurableObject(openStub(task), (_, ctx) => {
    const made = ctx.storage.kv.get<Task & { result: Extract<Result, { kind: "images" }> }>("task")!;
    const files = [{ ...made.result.images[0]!, key: `assets/${task}/depth.exr`, type: "image/x-exr" }];
    ctx.storage.kv.put("task", { ...made, result: { ...made.result, files, data: { seed: 4711 } } });
  });
  await crash(openStub(task));
  const text = await open(`/console/tasks/${task}`, browser);
  expect(text).toContain("depth.exr image/x-exr");
  expect(text).toContain("4711");
});

test("the charges of a file have the page's word for its kind, and search its icon", async () => {
  const reference = unique();
  const body = JSON.stringify({ model: "narrator", input: { text: "Once upon a time" }, reference });
  const { status } = await browser.ask("/v1/tasks", body, null, { authorization: `Bearer ${await newKey()}` });
  expect(status).toBe(200);
  for (const [language, word] of Object.entries({ en: "File", zh: "文件", ko: "파일", ja: "ファイル" })) {
    await browser.ask(`/console/language?to=${language}`);
    expect(await open("/console/usage", browser)).toContain(` ${word} narrator `);
  }
  await browser.ask("/console/language?to=en");
  const found = await (await browser.ask(`/console/search?q=${reference}`)).text();
  expect(/href="\/console\/tasks\/task_.*?#(\w+)"/s.exec(found)?.[1]).toBe("cube");
});
