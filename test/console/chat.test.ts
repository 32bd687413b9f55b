/** The chat page without script: conversations are kept, changed, compared, exported, deleted, and belong to their user. And what Markdown may become. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { highlight } from "../../src/console/parts/highlight.ts";
import { insertConversation } from "../../src/db/conversations.ts";
import { asAdmin, holdTime } from "../support/gateway.ts";
import { type Browser, person } from "./support.ts";

holdTime();

const words = (html: string) => (html.split('id="talk"')[1] ?? "").replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
/** The revision that the page shows. */
const revision = (html: string) => /id="say".*?name="at" value="(\d+)"/s.exec(html)?.[1] ?? "";

/** Sends a form of the page and returns the path where its answer is. */
async function send(browser: Browser, path: string, form: Record<string, string | string[]>): Promise<string> {
  const sent = new FormData();
  for (const [name, value] of Object.entries(form)) for (const one of [value].flat()) sent.append(name, one);
  const answer = await browser.ask(path, sent);
  expect([answer.status, await answer.text()]).toEqual([303, ""]);
  return answer.headers.get("location")!;
}

test("a balance that does not cover the next answer is said beside the question, with who can add to it", async () => {
  const { browser, account } = await person();
  expect(words(await browser.read("/console/chat"))).not.toContain("The balance is");
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { quota: 0.0001 } });
  expect(words(await browser.read("/console/chat"))).toContain(
    "The balance is $0.0001. The operator of this gateway can add credit. Ask for credit",
  );
});

test("the title of a conversation is the first line of its question, without the signs of Markdown", async () => {
  const { browser } = await person();
  for (const [say, title] of [
    ["## What is a **dune**?\nIn short.", "What is a dune?"],
    ["- [ ] `npm` or 2*3*4?", "[ ] npm or 2*3*4?"],
    ["```python\nprint(__name__)\n```\nWhat does it print?", "print(__name__)"],
    ["```", "```"],
  ] as const) {
    const path = await send(browser, "/console/chat", { say, model: "textA-1", do: "send" });
    expect(await browser.read(path)).toContain(`<h2 class="clip">${title}</h2>`);
  }
});

test("a conversation is kept with what each answer cost; it is edited, renamed, exported and deleted", async () => {
  const { browser } = await person();
  expect(await browser.read("/console/chat")).toContain("Conversations are kept here, for you alone.");
  const path = await send(browser, "/console/chat", { say: "What is a dune?\nIn short.", model: "textA-1", do: "send" });
  expect(path).toMatch(/^\/console\/chat\/conv_\w{22}$/);
  const first = await browser.read(path);
  expect(first).toMatch(/<h2 class="clip">What is a dune\?<\/h2>/);
  expect(words(first)).toMatch(/What is a dune\? In short\. .*Hello there textA-1 · \d+ in, \d+ out · \$0\.\d+ · \d\.\d s/);
  await send(browser, path, { say: "And a lake?", model: "textA-1-mini", do: "send", at: revision(first) });
  const second = await browser.read(path);
  expect(words(second)).toMatch(/What is a dune\?.*Hello there.*And a lake\?.*Hello there textA-1-mini/);
  // A form of an older page changes nothing.
  const stale = await browser.ask(path, { say: "Twice?", model: "textA-1", do: "send", at: revision(first) });
  expect([stale.status, await stale.text()]).toEqual([409, expect.stringContaining("changed in another window")]);
  await send(browser, path, { say: "What is a hill?", turn: "0", model: "textA-1", do: "edit", at: revision(second) });
  const edited = await browser.read(path);
  expect(words(edited)).toContain("What is a hill?");
  expect(words(edited)).not.toContain("And a lake?");
  await send(browser, `${path}/title`, { title: "Hills <b>" });
  expect(await browser.read("/console/chat")).toContain("Hills &lt;b&gt;");
  const exported = await browser.ask(`${path}/export`);
  expect(exported.headers.get("content-disposition")).toContain("filename*=UTF-8''Hills-b.md");
  expect(await exported.text()).toBe("# Hills <b>\n\n## Question\n\nWhat is a hill?\n\n## textA-1\n\nHello there\n");
  expect(await browser.read(`${path}/delete`)).toContain("It cannot be brought back.");
  await send(browser, `${path}/delete`, {});
  expect((await browser.ask(path)).status).toBe(404);
});

test("several models answer side by side, and the conversation goes on with one", async () => {
  const { browser } = await person();
  const models = ["textA-1", "textA-1-mini"];
  const added = await browser.ask("/console/chat", { model: "textA-1", say: "Kept", do: "add" });
  const offered = await added.text();
  expect([added.status, offered.match(/<select/g)?.length, offered.includes(">Kept</textarea>")]).toEqual([200, 2, true]);
  const path = await send(browser, "/console/chat", { say: "Compare", model: models, do: "send" });
  const both = await browser.read(path);
  expect(both).toContain('data-count="2"');
  expect(both).toContain('placeholder="Ask all 2"');
  await send(browser, path, { do: "go-1", at: revision(both), model: models });
  const one = await browser.read(path);
  expect(one).toMatch(/aria-pressed="true"[^]*Going on with this/);
  expect(one.match(/<select/g)).toHaveLength(1);
  const again = await send(browser, path, { say: "More", do: "send", at: revision(one), model: "textA-1-mini" });
  expect(words(await browser.read(again))).toMatch(/Compare.*More.*Hello there textA-1-mini/);
});

test("a refused question says why and is kept; a stopped one keeps what arrived; an empty one is not sent", async () => {
  const { browser } = await person();
  const empty = await browser.ask("/console/chat", { say: " ", model: "textA-1", do: "send" });
  expect([empty.status, await empty.text()]).toEqual([400, expect.stringContaining("Write a question first.")]);
  const path = await send(browser, "/console/chat", { say: "Hi", model: "textA-1", do: "send" });
  const shown = await browser.read(path);
  await send(browser, path, { do: "stopped", text: "Half an ans", at: revision(shown), model: "textA-1" });
  expect(words(await browser.read(path))).toMatch(/Half an ans textA-1 · Stopped/);
  const poor = await person();
  await asAdmin(`/accounts/${poor.id}`, { method: "PATCH", body: { quota: 0 } });
  const refused = await send(poor.browser, "/console/chat", { say: "Too dear?", model: "textA-1", do: "send" });
  expect(words(await poor.browser.read(refused))).toContain("The balance is insufficient.");
});

test("conversations belong to their user, and are erased with the account", async () => {
  const [mine, other] = [await person(), await person()];
  const path = await send(mine.browser, "/console/chat", { say: "Private", model: "textA-1", do: "send" });
  for (const place of [path, `${path}/export`, `${path}/delete`]) expect((await other.browser.ask(place)).status, place).toBe(404);
  expect((await other.browser.ask(path, { say: "Hm", do: "send" })).status).toBe(404);
  await other.browser.ask(`${path}/delete`, {});
  await other.browser.ask(`${path}/title`, { title: "Taken" });
  expect(await mine.browser.read(path)).toContain(">Private</h2>");
  await asAdmin(`/accounts/${mine.id}`, { method: "DELETE" });
  const left = await env.DB.prepare("SELECT count(*) AS n FROM conversation WHERE account_id = ?1").bind(mine.id).first<{ n: number }>();
  expect(left?.n).toBe(0);
});

test("a user's conversations take ten megabytes of the database at most: the oldest make room for what is written, also when nothing is paid", async () => {
  const { browser, id: accountId } = await person();
  await asAdmin(`/accounts/${accountId}`, { method: "PATCH", body: { quota: 0 } });
  const userId = (await env.DB.prepare("SELECT user_id AS id FROM membership WHERE account_id = ?1").bind(accountId).first<string>("id"))!;
  const list = async () =>
    (
      await env.DB.prepare("SELECT id, octet_length(turns) AS bytes FROM conversation WHERE user_id = ?1 ORDER BY at")
        .bind(userId)
        .run<{ id: string; bytes: number }>()
    ).results;
  // In UTF-8 each of these characters takes three bytes.
  const turns = JSON.stringify([{ question: "\u2026".repeat(390_000), replies: [] }]);
  for (let at = 1; at <= 10; at++)
    await insertConversation(env.DB, { accountId, userId }, { id: `conv_old_${at}`, title: "Old", at, turns });
  expect((await list()).map(({ id }) => id)).toEqual(Array.from({ length: 8 }, (_, at) => `conv_old_${at + 3}`));
  const path = await send(browser, "/console/chat", { say: "A new one", model: "textA-1", do: "send" });
  expect((await list()).at(-1)!.id).toBe(path.split("/").at(-1));
  for (let count = 0; count < 5; count++)
    await send(browser, path, { say: "\u2026".repeat(78_000), model: "textA-1", do: "send", at: revision(await browser.read(path)) });
  const kept = await list();
  expect(kept.map(({ id }) => id)).not.toContain("conv_old_3");
  expect(kept.at(-1)!.id).toBe(path.split("/").at(-1));
  expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(10 * 1024 * 1024);
});

test("code is coloured by keywords, strings, comments and keys, and everything in it is escaped", () => {
  expect(highlight("if x: # <why>\n  return \"a\" + '&'", "python")).toBe(
    '<span class="k">if</span> x: <span class="c"># &#60;why&#62;</span>\n  <span class="k">return</span> <span class="s">&#34;a&#34;</span> + <span class="s">\'&#38;\'</span>',
  );
  expect(highlight('{"a": "b", "c": true}', "json")).toBe(
    '{<span class="k">&#34;a&#34;</span>: <span class="s">&#34;b&#34;</span>, <span class="k">&#34;c&#34;</span>: <span class="k">true</span>}',
  );
  expect(highlight("curl -d '{\n}' # x", "sh")).toBe(
    `<span class="k">curl</span> -d <span class="s">'{\n}'</span> <span class="c"># x</span>`,
  );
  expect(highlight("<b>", "klingon")).toBe("&#60;b&#62;");
});
