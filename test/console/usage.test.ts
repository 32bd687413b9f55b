/** The usage page: its sums, the list of ledger entries and the CSV file agree with the ledger. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { newChatId } from "../../src/base/ids.ts";
import { accountByEmail } from "../../src/db/accounts.ts";
import { findCaller } from "../../src/db/callers.ts";
import { entryReader } from "../../src/storage/archived-entries.ts";
import { spentByDay, startOfDays } from "../../src/db/ledger-reports.ts";
import { type Account, readBalance, call, chatsSettled, complete, finish, holdTime, script, submit, image } from "../support/gateway.ts";
import { Browser, signedUp, words } from "./support.ts";

holdTime();
const dayMs = 86_400_000;
const formula = '=1+1, "sum"';

/** A user whose key's name is a formula to spreadsheets. */
async function person(): Promise<{ browser: Browser; account: Account; email: string }> {
  const { browser, email } = await signedUp();
  const { id } = (await accountByEmail(env.DB, email))!;
  const shown = await (await browser.ask("/console/keys", { name: formula, quota: "", expires: "" })).text();
  const key = /sk-[0-9A-Za-z]{49}/.exec(shown)![0];
  return { browser, account: { id, key, keyId: (await findCaller(env, key))!.keyId }, email };
}

async function chat(account: Account): Promise<void> {
  const body = { model: "textA-1", messages: [{ role: "user", content: "hi" }] }; // costs 0.000036
  expect((await call("/v1/chat/completions", { key: account.key, body })).status).toBe(200);
}

/** The fields of a CSV file, parsed by RFC 4180. */
function parse(text: string): string[][] {
  const rows: string[][] = [[]];
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/y;
  for (let match = pattern.exec(text); match; match = pattern.exec(text)) {
    rows.at(-1)!.push(match[1]?.replaceAll('""', '"') ?? match.at(2)!);
    if (match[3] === "\r\n") rows.push([]);
    if (pattern.lastIndex === text.length) return rows.slice(0, -1);
  }
  throw new Error(`no CSV: ${text}`);
}

async function file(browser: Browser, days: number) {
  const response = await browser.ask(`/console/usage/charges.csv?days=${days}`);
  expect(response.status).toBe(200);
  const [head = [], ...rows] = parse(await response.text());
  return { response, rows: rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at]]))) };
}

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const sum = (amounts: number[]) => Math.round(amounts.reduce((total, amount) => total + amount * 1e6, 0)) / 1e6;

test("tasks and chats of several days: the sums by day and model, the list and the file equal the balance", async () => {
  const { browser, account, email } = await person();
  // The time only moves forward, because alarms in the past run at once. Sessions end after a week.
  const noon = startOfDays(1, Date.now()) + 42 * dayMs + dayMs / 2;
  vi.setSystemTime(noon - 40 * dayMs);
  const first = await complete(account, "/v1/images/generations", image());
  vi.setSystemTime(noon - dayMs);
  await chat(account);
  const failed = await submit(account, "/v1/images/generations", image());
  await call(`/v1/tasks/${failed}/cancel`, { key: account.key, method: "POST" });
  vi.setSystemTime(noon);
  await complete(account, "/v1/images/generations", image());
  await chat(account);
  const open = await submit(account, "/v1/images/generations", image());
  await chatsSettled(account);
  await browser.ask("/console/sign-in", { email, password: "correct horse battery" });

  const { used, reserved } = await readBalance(account);
  expect({ used, reserved }).toEqual({ used: 0.060072, reserved: 0.03 });
  const spent = await spentByDay(env.DB, account.id, startOfDays(90, Date.now()));
  expect(spent.map(({ day: ms, model, charged }) => [new Date(ms).toISOString(), model, charged])).toEqual([
    [`${day(noon)}T00:00:00.000Z`, "imgA-4", 30_000],
    [`${day(noon)}T00:00:00.000Z`, "textA-1", 36],
    [`${day(noon - dayMs)}T00:00:00.000Z`, "textA-1", 36],
    [`${day(noon - 40 * dayMs)}T00:00:00.000Z`, "imgA-4", 30_000],
  ]);
  const { rows, response } = await file(browser, 90);
  expect(response.headers.get("content-type")).toContain("text/csv");
  expect(response.headers.get("content-disposition")).toContain("attachment");
  expect(sum(rows.map(({ charged }) => Number(charged)))).toBe(used);
  expect(sum(rows.map(({ reserved: held, charged, returned }) => Number(held) - Number(charged) - Number(returned)))).toBe(reserved);
  expect(rows.map(({ kind, outcome }) => `${kind} ${outcome}`).sort()).toEqual([
    "chat completed",
    "chat completed",
    "image ",
    "image cancelled",
    "image completed",
    "image completed",
  ]);
  expect(rows.at(-1)).toEqual({
    submitted: new Date(noon - 40 * dayMs).toISOString(),
    ended: expect.stringMatching(day(noon - 40 * dayMs)),
    task: first,
    kind: "image",
    model: "imgA-4",
    key: `'${formula}`,
    reserved: "0.03",
    charged: "0.03",
    returned: "0",
    outcome: "completed",
  });

  const month = await browser.read("/console/usage");
  expect(month).toContain(`<time datetime="${day(noon - dayMs)}">`);
  expect(month).not.toContain(`<time datetime="${day(noon - 40 * dayMs)}">`);
  expect(month).toContain('<data class="num" value="0.03" title="0.03 USD">$0.03</data>');
  expect(month).toContain('<data class="num" value="0.000072" title="0.000072 USD">$0.000072</data>');
  expect(month).toContain(`href="/console/tasks/${failed}"`);
  expect(month).toContain("Cancelled</span>");
  expect(month).not.toContain(first);
  // The longest period is ninety days.
  expect(await browser.read("/console/usage?days=9999")).not.toContain(first);
  expect(await browser.read("/console/usage?days=90")).toContain(first);
  expect((await file(browser, 7)).rows).toHaveLength(5);
  expect(await browser.read("/console")).toMatch(
    /Spent in 7 days<\/a><\/dt><dd><data class="num" value="0\.030072" title="0.030072 USD">\$0.03</,
  );

  const { browser: stranger } = await signedUp();
  expect(await stranger.read("/console/usage?days=90")).toContain("There are no charges in this period.");
  expect((await file(stranger, 90)).rows).toEqual([]);
  const { submitted = "", task = "" } = rows.at(1)!;
  expect(await stranger.read(`/console/usage?days=90&after=${Date.parse(submitted)}_${task}`)).not.toContain("/console/tasks/");
  await finish(account, open);
});

test("how long the balance lasts is the same on every period of Usage and on Billing; members, who see their own charges, are not told", async () => {
  const { browser, account, email } = await person();
  const noon = startOfDays(1, Date.now()) + 10 * dayMs + dayMs / 2;
  vi.setSystemTime(noon - 8 * dayMs);
  await complete(account, "/v1/images/generations", image({ n: 4 }));
  vi.setSystemTime(noon);
  await complete(account, "/v1/images/generations", image({ n: 4 }));
  await browser.ask("/console/sign-in", { email, password: "correct horse battery" });
  // 4.76 are left, 0.12 were charged in seven days.
  for (const query of ["days=7", "days=30", `from=${day(noon - 9 * dayMs)}&to=${day(noon - 8 * dayMs)}`])
    expect(words(await browser.read(`/console/usage?${query}`)), query).toContain("Lasts about 277 days at the pace of the last 7 days");
  const billing = await browser.read("/console/billing");
  expect(billing).toContain("lasts about 277 days");
  expect(billing).toContain('<svg class="spark"');
  const invited = `member-${email}`;
  const invitation =
    /invitation=(join_\w+)/.exec(await (await browser.ask("/console/members/invite", { email: invited, role: "member" })).text())?.[1] ??
    "";
  const member = new Browser();
  await member.ask("/console/sign-up", { name: "M", email: invited, password: "correct horse battery", invitation });
  expect(words(await member.read("/console/usage"))).toMatch(/Balance \$4\.76 .* Lasts about – /);
  const own = await member.read("/console/billing");
  expect(words(own)).toContain("$4.76");
  expect(own).not.toMatch(/lasts about|<svg class="spark"/);
});

test("own dates, runs, pace and budgets; dates that cannot be are refused with the reason", async () => {
  const { browser, account, email } = await person();
  const noon = startOfDays(1, Date.now()) + 10 * dayMs + dayMs / 2;
  vi.setSystemTime(noon - 8 * dayMs);
  const first = await complete(account, "/v1/images/generations", image());
  vi.setSystemTime(noon);
  const second = await complete(account, "/v1/images/generations", image());
  const failed = await submit(account, "/v1/images/generations", image());
  await call(`/v1/tasks/${failed}/cancel`, { key: account.key, method: "POST" });
  await browser.ask("/console/sign-in", { email, password: "correct horse battery" });
  await browser.ask(`/console/keys/${account.keyId}/change`, { name: "server", quota: "2", budget: "0.50", window: "day", expires: "" });
  const month = words(await browser.read("/console/usage"));
  expect(month).toMatch(/Spent in 30 days \$0\.06 \$0\.06 since the account was opened Runs 3 66\.7 % completed/);
  expect(month).toMatch(/imgA-4 3 100 % \$0\.06/);
  expect(month).toMatch(/Key “server” \$0\.50 a day \$0\.03 \$0\.47 Requests are refused until \d+ \w+/);
  expect(month).toMatch(/Key “server” \$2\.00 in all \$0\.06 \$1\.94 Requests are refused /);
  expect(month).toContain("Lasts about over a year at the pace of the last 7 days");

  const query = `from=${day(noon - 8 * dayMs)}&to=${day(noon - dayMs)}`;
  const own = await browser.read(`/console/usage?${query}`);
  expect(words(own)).toMatch(/Spent in 8 days \$0\.03 .* Runs 1 100 % completed/);
  expect(own).toContain(first);
  expect(own).not.toContain(second);
  expect(words(await browser.read(`/console/usage?from=${day(noon)}&to=${day(noon)}`))).toMatch(
    // The axis of one day has it once.
    /Spent in 1 day \$0\.03.*imgA-4: \$0\.03 \d+ \w+ Model/,
  );
  const rows = parse(await (await browser.ask(`/console/usage/charges.csv?${query}`)).text());
  expect(rows.slice(1).map((row) => row[2])).toEqual([first]);
  expect((await browser.ask(`/console/usage/focus.csv?${query}`)).headers.get("content-disposition")).toContain(
    `focus-${day(noon - 8 * dayMs)}-${day(noon - dayMs)}.csv`,
  );
  for (const wrong of [
    "from=2026-02-30&to=2026-03-01",
    `from=${day(noon)}&to=${day(noon - dayMs)}`,
    `from=${day(noon - 92 * dayMs)}&to=${day(noon)}`,
    `from=${day(noon + dayMs)}&to=${day(noon + 2 * dayMs)}`,
    `to=${day(noon)}`,
    "from=%22%3E%3Cscript&to=",
  ]) {
    const answer = await browser.ask(`/console/usage?${wrong}`);
    expect([answer.status, wrong]).toEqual([400, wrong]);
    const text = await answer.text();
    expect(text).toContain("at most 92 days in all");
    expect(text).not.toContain('"><script');
  }
});

test("the list's pages and the whole file contain each entry once, also entries of the same millisecond", async () => {
  const { browser, account } = await person();
  const ids = Array.from({ length: 2_101 }, (_, at) => `${at % 3 ? "chatcmpl-" : "task_"}${String(at).padStart(6, "0")}`);
  const at = Date.now();
  // Three are in the wallet object. The others are inserted in one statement: two thousand calls would be slow.
  for (const taskId of ids.slice(0, 3)) {
    const kind = taskId.startsWith("chat") ? "chat" : "image";
    const charge = { taskId, accountId: account.id, keyId: account.keyId, kind, model: "m" };
    expect(await env.WALLETS.getByName(account.id).reserve(charge, 1, {})).toEqual({ answer: "reserved" });
  }
  await env.DB.prepare(
    `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
     SELECT value, ?1, ?2, CASE WHEN value LIKE 'chat%' THEN 'chat' ELSE 'image' END, 'm', 1, 0, 'cancelled', ?3 - key / 5, ?3 FROM json_each(?4)`,
  )
    .bind(account.id, account.keyId, at, JSON.stringify(ids.slice(3)))
    .run();
  const { rows } = await file(browser, 7);
  expect(rows.map(({ task }) => task).sort()).toEqual([...ids].sort());
  const seen: string[] = [];
  for (let path: string | undefined = "/console/usage?days=7"; path && seen.length < 120;) {
    const text = await browser.read(path);
    seen.push(...[...text.matchAll(/<code title="((?:task_|chatcmpl-)\d+)">/g)].map((match) => match.at(1)!));
    path = /href="([^"]*after=[^"]*)"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen).toEqual(rows.slice(0, seen.length).map(({ task }) => task));
  expect(seen).toHaveLength(150);
});

test("a page of entries or tasks reads only its own rows and needs no sort", async () => {
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  const since = startOfDays(90, Date.now());
  const read = entryReader(env.DB, env.ASSETS, "nobody");
  await read({ since, limit: 10 });
  await read({ since, limit: 10, after: { at: Date.now(), taskId: "x" } });
  await spentByDay(env.DB, "nobody", since);
  const account = { key: (await person()).account.key };
  await call("/v1/tasks", account);
  const asked = prepare.mock.calls.map(([sql]) => sql).filter((sql) => sql.includes("FROM entry"));
  prepare.mockRestore();
  expect(asked).toHaveLength(3);
  for (const sql of asked) {
    const values = Array.from({ length: Math.max(...[...sql.matchAll(/\?(\d)/g)].map(([, at]) => Number(at))) }, () => 1);
    const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...values)
      .run<{ detail: string }>();
    const plan = results.map(({ detail }) => detail).join("\n");
    expect(plan).toMatch(/USING INDEX entry_by_account \(<expr>=\? AND <expr>=\?/);
    expect(plan).not.toContain("SCAN");
    expect(plan).not.toContain("ORDER BY");
  }
});

test("usage by key and by reference, and the table for cost tools, are the API's", async () => {
  const { browser, account } = await person();
  await complete(account, "/v1/images/generations", { ...image(), reference: `order <b>7</b>` });
  await complete(account, "/v1/images/generations", image());
  // The wallet writes settled entries to D1 after its answer.
  const written = () => readBalance(account).then(({ used }) => expect(used).toBe(0.06));
  await vi.waitFor(written, { timeout: 20_000 });
  const byReference = await browser.read("/console/usage?by=reference");
  expect(byReference).toMatch(/order &lt;b&gt;7&lt;\/b&gt;<\/span>.*?\$0\.03.*?Without a reference<\/span>.*?\$0\.03/s);
  expect(await browser.read("/console/usage?by=unknown")).toMatch(/<h2 id="grouped">By key.*=1\+1, &quot;sum&quot;<\/span>.*?\$0\.06/s);
  const focus = await browser.ask("/console/usage/focus.csv?days=7");
  expect(focus.headers.get("content-disposition")).toMatch(/^attachment; filename="focus-/);
  const [head = [], ...rows] = parse(await focus.text());
  expect(head).toContain("BilledCost");
  expect(sum(rows.map((row) => Number(row[head.indexOf("BilledCost")])))).toBe(0.06);
});

test("a failure in the ledger has words, not its code", async () => {
  const { browser, account } = await person();
  const { prompt, ...body } = image();
  await script({ match: prompt, polls: [{ failed: "content_policy_violation" }] });
  await finish(account, await submit(account, "/v1/images/generations", { ...body, prompt }));
  const page = await browser.read("/console/usage");
  expect(page).toContain("Refused for content");
  expect(page).not.toContain("content_policy_violation");
});

test("an attempt that busy makers have refused is shown as refused, not as failed", async () => {
  const { browser, account } = await person();
  const charge = { taskId: newChatId(), accountId: account.id, keyId: account.keyId, kind: "chat" as const, model: "textA-1" };
  const wallet = env.WALLETS.getByName(account.id);
  await wallet.reserve(charge, 1_000, { deadline: Date.now() + 60_000 });
  await wallet.settle(charge, 0, "refused", 1_000);
  for (const step of ["before it is written", "after"]) {
    const page = await browser.read("/console/usage?days=7");
    expect(page, step).toMatch(/data-s=""[^>]*>.{0,200}Refused/s);
    expect(page.replaceAll(/<[^>]*>/g, " "), step).toMatch(/Runs\s+0\s/);
    expect(page, step).not.toContain('data-s="bad"');
    await wallet.writeEnded();
  }
});
