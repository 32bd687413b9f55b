/** The operator's start page: figures, charts and health of the whole deployment, and what needs attention, with the way to each. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { liveCatalog } from "../../../src/current-catalog.ts";
import { recordIncident, writeAlert } from "../../../src/db/alerts.ts";
import { type SettledEntry, writeEntries } from "../../../src/db/grants.ts";
import { writeHeartbeat } from "../../../src/db/jobs.ts";
import { writeInFlight } from "../../../src/db/operator-series.ts";
import { type Account, asAdmin, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";
import { type Browser, operator, person, words } from "../support.ts";

holdTime();

const root = "/console/admin";
const hourMs = 3_600_000;
let browser: Browser;
let other: Browser;

beforeAll(async () => {
  ({ browser } = await operator());
  ({ browser: other } = await person());
});

const row = (html: string, label: string, name: string) => {
  const [, table = ""] = html.split(`aria-label="${label}"`);
  return words(`<main${new RegExp(`<tr><th scope="row"[^>]*>(?:<a[^>]*>)?${name}.*?</tr>`).exec(table)?.[0] ?? ""}`).trim();
};

let entries = 0;
async function settle(account: Account, closedAt: number, count: number, more: Partial<SettledEntry> = {}) {
  const all = Array.from({ length: count }, (): SettledEntry => ({
    taskId: `task_operator_${++entries}`,
    keyId: account.keyId,
    kind: "image",
    model: "imgA-4",
    held: 30_000,
    charged: 30_000,
    outcome: "completed",
    at: closedAt - 4_000,
    closedAt,
    attempts: [{ route: "0 fal seedream", cost: 20_000 }],
    ...more,
  }));
  await writeEntries(env.DB, account.id, 0, all, { isGranted: false });
}

test("a new deployment shows empty charts and nothing to do; other users get 404", async () => {
  await writeHeartbeat(env.DB, Date.now());
  const page = await browser.read(root);
  expect(words(page)).toContain("No attempt has ended in this time.");
  expect(page).toContain("No alert is active.");
  for (const path of [root, `${root}/now`]) expect((await other.ask(path)).status).toBe(404);
});

test("figures, providers and the largest accounts of each range; a provider that fails now is not healthy, and says where to go", async () => {
  const now = Date.now();
  const account = await newAccount();
  await settle(account, now - 5 * hourMs, 20);
  await settle(account, now - 1_000, 5, { outcome: "provider_error", charged: 0, attempts: [{ route: "0 fal seedream", cost: null }] });
  await settle(account, now - 3 * 24 * hourMs, 10, { attempts: [{ route: "0 google nano", cost: 40_000 }] });
  const day = await browser.read(root);
  expect(words(day)).toContain("Revenue $0.60 Cost $0.40 5 attempts of unknown cost Margin 33.3 % $0.20 Tasks and chats 25");
  expect(words(day)).toContain("Completion rate 80 % 5 failed");
  expect(row(day, "Providers", "fal")).toMatch(/^fal Down 25 20\s% [\d.]+ s [\d.]+ s \$0\.40$/);
  expect(row(day, "Providers", "google")).toBe("");
  expect(day).toContain('aria-label="fal: 20\u00a0% failed; 1 bars with at least half failed"');
  expect(words(day)).toContain("fal seedream does not answer with anything usable 100 % of 5 attempts failed in the last hour");
  expect(day).toContain(`href="${root}/providers" aria-label="Open: fal seedream`);
  // Nothing is "no alert" while work fails.
  expect(day).not.toContain("No alert is active.");
  const { email } = (await asAdmin(`/accounts/${account.id}`)).body as { email: string };
  expect(row(day, "Largest accounts", "[^<]*")).toContain(email);
  expect(day).toContain(`href="${root}/accounts/${account.id}"`);
  const week = await browser.read(`${root}?range=7d`);
  expect(words(week)).toContain("Revenue $0.90 Cost $0.80");
  expect(row(week, "Providers", "google")).toMatch(/^google Healthy 10 0\s%/);
  expect(words(await browser.read(`${root}?range=30d`))).toContain("Revenue $0.90");
  expect(week).toContain(`<a href="${root}?range=7d" aria-current="page">7 days</a>`);
  expect((await browser.ask(`${root}?range=toString`)).status).toBe(200);
  // The part that renews itself reads no account.
  expect(week).toContain(`hx-get="${root}/now?range=7d" hx-trigger="every 30s"`);
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  const part = await browser.read(`${root}/now?range=7d`);
  const asked = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  expect(part).toContain('id="operator"');
  expect(asked.filter((sql) => /\bentry\b|account_day/.test(sql))).toEqual([]);
});

test("an hour by five minutes, the time before it, and how many tasks were open", async () => {
  const now = Date.now();
  const account = await newAccount();
  await settle(account, now - 90 * 60_000, 10);
  await settle(account, now - 10 * 60_000, 15, { attempts: [{ route: "0 fal seedream", cost: 10_000 }] });
  await writeInFlight(env.DB, now - 30 * 60_000, 42);
  await writeInFlight(env.DB, now - 90 * 60_000, 4321);
  const hour = await browser.read(`${root}?range=1h`);
  expect(hour).toContain(`<a href="${root}?range=1h" aria-current="page">1 h</a>`);
  expect(words(hour)).toMatch(/Revenue \$0\.45 \+50\s% on the hour before/);
  expect(words(hour)).toMatch(/Margin [\d.]+\s% \$[\d.]+ \+\d+(\.\d)? points/);
  expect(hour).toMatch(/<title>\d\d:\d\d: 42<\/title>/);
  expect(hour).not.toContain("4,321");
  // Ended tasks stand below the money of their time: in one column, on one scale.
  const [charts = ""] = /class="plotgrid.*?As a table/s.exec(hour) ?? [];
  expect(charts.match(/viewBox="0 0 \d+/g)).toEqual(['viewBox="0 0 120', 'viewBox="0 0 120']);
  const money = charts.slice(0, charts.indexOf("Tasks and chats ended"));
  expect(money.split("<div").length, "the column is still open").toBeGreaterThan(money.split("</div>").length);
  expect(await browser.read(root)).toMatch(/<title>\d\d:00: 4,321<\/title>/);
  // The part that renews itself brings what needs attention, which stands beside what it does not read.
  expect(await browser.read(`${root}/now?range=1h`)).toContain('<section id="matters" hx-swap-oob="true">');
});

test("a route that fails or loses money leads to the model that uses it", async () => {
  const { routes } = (await liveCatalog(env.DB)).all.find(({ id }) => id === "imgC-3-pro-image-preview")!;
  const [route = ""] = routes.map(({ provider, model }) => `${provider} ${model}`);
  const alert = { beganAt: Date.now() - 60_000, endedAt: null, causes: [route], told: "began" as const };
  await writeAlert(env.DB, { ...alert, name: "route_loses_money" });
  await writeAlert(env.DB, { ...alert, name: "provider_failing" });
  const page = await browser.read(root);
  expect(page).toMatch(/href="\/console\/admin\/models\/imgC-3-pro-image-preview" aria-label="Set price: A route loses money"/);
  expect(page).toMatch(
    /href="\/console\/admin\/models\/imgC-3-pro-image-preview" aria-label="Change routes: Every attempt at a maker fails"/,
  );
  await env.DB.prepare("DELETE FROM alert").run();
});

test("a provider that any isolate put aside is put aside here, and nothing speaks of an isolate", async () => {
  await recordIncident(env.DB, "provider", "fal");
  expect(row(await browser.read(root), "Providers", "fal")).toContain("Put aside");
  expect(await browser.read(root)).not.toMatch(/isolate/i);
  expect(await browser.read(`${root}/providers`)).not.toMatch(/isolate/i);
});

test("each alert, stuck task and ending route leads to its page", async () => {
  const account = await newAccount();
  const alert = (name: string, causes: string[]) =>
    writeAlert(env.DB, { name, beganAt: Date.now() - 60_000, endedAt: null, causes, told: "began" });
  await alert("callbacks_failing", [account.id]);
  await alert("completion_low", ["image"]);
  await alert("accounts_restored", [account.id]);
  await alert("ledger_drift", [account.id]);
  const task = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  vi.setSystemTime(Date.now() + 200_000);
  const page = await browser.read(root);
  for (const [title, path] of [
    ["Webhooks of an account fail", `${root}/accounts/${account.id}`],
    ["Hardly any task completes", `${root}/providers`],
    ["Balances differ from the ledger", `${root}/audit`],
  ])
    expect(page).toContain(`<a class="btn sm" href="${path}" aria-label="Open: ${title}">`);
  expect(page).toContain(`href="${root}/accounts/${account.id}/tasks/${task}"`);
  // What one button mends, it mends here.
  expect(page).toContain(
    `<form method="post" action="${root}/reconcile"><button class="btn sm" aria-label="Reconcile: Accounts lost changes to a restored database">`,
  );
  expect(words(page)).toContain("1 past their deadline");
  await writeHeartbeat(env.DB, Date.now() - hourMs);
  expect(words(await browser.read(root))).toContain("The checks have stopped");
  await env.DB.prepare("DELETE FROM alert").run();
});

test("the page speaks four languages, with its headings in order", async () => {
  for (const language of ["zh", "ko", "ja"]) {
    await browser.ask(`/console/language?to=${language}`);
    const page = await browser.read(root);
    expect(page).not.toMatch(/admin_\w+<|Revenue|\{\w+\}|undefined|NaN/);
    const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
    expect(levels.every((level, at) => (at === 0 ? level === 1 : level > 1 && level <= (levels[at - 1] ?? 0) + 1))).toBe(true);
  }
  await browser.ask("/console/language?to=en");
});
