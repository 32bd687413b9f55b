/** The admin pages: access for admins only, their content, and their actions. */

import "../../support/alone.ts";
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { writeAlert } from "../../../src/db/alerts.ts";
import { writeHeartbeat } from "../../../src/db/jobs.ts";
import { accountByEmail, insertAccount } from "../../../src/db/accounts.ts";
import { admin } from "../../../src/console/admin/pages.tsx";
import { toObjectId, toTaskId } from "../../../src/base/ids.ts";
import { markUnhealthy } from "../../../src/providers/index.ts";
import { openWallet } from "../../../src/db/ledger.ts";
import {
  type Account,
  alarm,
  asAdmin,
  readBalance,
  call,
  complete,
  deliver,
  finish,
  holdTime,
  newAccount,
  submit,
  unique,
  image,
  newTask,
} from "../../support/gateway.ts";
import { Browser, person } from "../support.ts";
import type { Vars } from "../../support/models.ts";

holdTime();

const root = "/console/admin";
const images = "/v1/images/generations";
const readPage = (account: Pick<Account, "id">) => `${root}/accounts/${account.id}`;
const give = (id: string, role: boolean) => asAdmin(`/accounts/${id}`, { method: "PATCH", body: { admin: role } });

/** One user with the admin role, and one without. */
let operator: Awaited<ReturnType<typeof person>>;
let other: Awaited<ReturnType<typeof person>>;
let browser: Browser;

beforeAll(async () => {
  [operator, other] = await Promise.all([person(), person()]);
  browser = operator.browser;
  expect((await give(operator.id, true)).body).toMatchObject({ id: operator.id, admin: true });
});

/** The page as an admin sees it on a gateway with other variables. */
async function readWith(vars: Vars, path: string): Promise<string> {
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return (await new Browser({}, vars).ask(path, undefined, null, { cookie })).text();
}

/** Opens an account whose name was chosen by its user, if it has one. */
async function accountNamed(name: string): Promise<{ id: string; email: string }> {
  const { account, statement } = insertAccount(env.DB, `${unique()}@example.com`, name);
  await env.DB.batch([statement, openWallet(env.DB, account.id, 1_000_000)]);
  return account;
}

const lines = (spy: { mock: { calls: unknown[][] } }) =>
  spy.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>).filter(({ unit }) => unit === "admin");

test("users without the admin role get 404 for every path and method, and see no link", async () => {
  const caller = await newAccount();
  const taskId = await submit(caller, images, image());
  const routes = admin.routes.filter(({ method }) => method !== "ALL");
  expect(routes.length).toBeGreaterThan(12);
  const names = new Map([
    ["id", other.id],
    ["key", caller.keyId],
    ["task", taskId],
    ["action", "appoint"],
  ]);
  const paths = new Set(
    routes.map(({ path }) => root + path.replace(/:(\w+)/g, (_, name: string) => names.get(name) ?? "").replace(/^\/$/, "")),
  );
  for (const path of [...paths, `${root}/unknown`, `${readPage(caller)}/disable`]) {
    expect((await other.browser.ask(path)).status, path).toBe(404);
    expect((await other.browser.ask(path, { how: "unlimited", email: "a@b.c", quota: "1" })).status, path).toBe(404);
  }
  expect((await new Browser().ask(root)).headers.get("location")).toBe("/console/sign-in?to=%2Fconsole%2Fadmin");
  expect(await accountByEmail(env.DB, other.email)).toMatchObject({ admin: 0, disabled: 0 });
  expect((await asAdmin(`/accounts/${caller.id}`)).body).toMatchObject({ quota: 100, reserved: 0.03, disabled: false, admin: false });
  expect(await other.browser.read("/console")).not.toContain(root);
});

test("the role takes effect with the next request, and so does its removal", async () => {
  expect((await other.browser.ask(root)).status).toBe(404);
  expect(await browser.read(`${readPage(other)}/appoint`)).toContain("Grant A &lt;b&gt;person&lt;/b&gt;");
  expect((await browser.ask(`${readPage(other)}/appoint`, {})).status).toBe(303);
  expect((await other.browser.ask(root)).status).toBe(200);
  expect(await other.browser.read("/console")).toContain(`href="${root}"`);
  expect((await browser.ask(`${readPage(other)}/dismiss`, {})).status).toBe(303);
  expect((await other.browser.ask(root)).status).toBe(404);
});

test("admins cannot disable their own account or remove their own role", async () => {
  for (const action of ["disable", "dismiss"]) expect((await browser.ask(`${readPage(operator)}/${action}`, {})).status).toBe(403);
  expect((await browser.ask(readPage(operator))).status).toBe(200);
});

test.each(["disable", "quota", "invite"])("a form to %s from another origin changes nothing", async (action) => {
  const account = await newAccount();
  expect((await browser.ask(`${readPage(account)}/${action}`, { how: "unlimited" }, "https://evil.example")).status).toBe(403);
  expect((await asAdmin(`/accounts/${account.id}`)).body).toMatchObject({ quota: 100, disabled: false });
});

test("accounts are found by a part of the name or address, or by the id; wildcards in the text are matched literally", async () => {
  const mark = unique();
  const percent = await accountNamed(`${mark} 100%_"o'clock"`);
  const plain = await accountNamed(`${mark} Plain ÄÖ`);
  const found = async (text: string) => {
    const page = await browser.read(`${root}/accounts?q=${encodeURIComponent(text)}`);
    return [percent, plain].map(({ id }) => page.includes(`href="${root}/accounts/${id}"`));
  };
  expect(await found(mark.toUpperCase())).toEqual([true, true]);
  expect(await found(`${mark} 100%_"O'`)).toEqual([true, false]);
  expect(await found(`${mark}%`)).toEqual([false, false]);
  expect(await found(`${mark}_100`)).toEqual([false, false]);
  expect(await found("plain ÄÖ")).toEqual([false, true]);
  expect(await found(plain.email.slice(0, 9).toUpperCase())).toEqual([false, true]);
  expect(await found(percent.id)).toEqual([true, false]);
  expect(await found(percent.id.slice(0, -1))).toEqual([false, false]);
  expect(await found("'; DROP TABLE account; --".repeat(20))).toEqual([false, false]);
});

test("the list's pages contain each account exactly once", async () => {
  const mark = unique();
  const made = await Promise.all(Array.from({ length: 23 }, () => accountNamed(mark)));
  const seen: string[] = [];
  for (let path: string | undefined = `${root}/accounts?q=${mark}`; path;) {
    const page: string = await browser.read(path);
    seen.push(...[...page.matchAll(/accounts\/(acc_\w+)"/g)].map(([, id]) => id ?? ""));
    path = /href="([^"]+)" rel="next"/.exec(page)?.[1]?.replaceAll("&amp;", "&");
  }
  expect(seen.sort()).toEqual(made.map(({ id }) => id).sort());
});

test("credits and debits are listed with the admin and the reason, also those made with the operator's API", async () => {
  const account = await newAccount(1);
  const change = (form: Record<string, string>) => browser.ask(`${readPage(account)}/quota`, { reason: "", ...form });
  expect((await change({ how: "add", amount: "2.5", reason: "Refund of <May>" })).status).toBe(303);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { add: -0.25 } });
  const refused = await change({ how: "add", amount: "much", reason: "kept" });
  expect([refused.status, (await refused.text()).includes('value="kept"')]).toEqual([400, true]);
  const text = await browser.read(readPage(account));
  const [, table = ""] = text.split(/aria-label="Credits and debits"/);
  const cells = [...table.slice(0, table.indexOf("</table>")).matchAll(/<tr>(.*?)<\/tr>/gs)]
    .slice(1)
    .map(([, row = ""]) => row.replace(/<[^>]*>/g, " "));
  expect(cells.map((row) => row.replace(/\s+/g, " ").trim())).toEqual([
    expect.stringMatching(/Set by the operator -\$0\.25 \$3\.25 Operator’s API$/),
    expect.stringMatching(/Set by the operator Refund of &lt;May&gt; \$2\.50 \$3\.50 person-\S+$/),
  ]);
  // Reservations and settlements are not quota changes.
  await complete(account, images, image());
  const { results } = await env.DB.prepare("SELECT 1 FROM quota_change WHERE account_id = ?1").bind(account.id).run();
  expect(results.length).toBe(2);
});

test("an account is erased once its address is typed, and admins cannot erase their own account", async () => {
  const account = await newAccount(1);
  const { email } = (await asAdmin(`/accounts/${account.id}`)).body as { email: string };
  await browser.ask(`${readPage(account)}/quota`, { how: "add", amount: "1", reason: "For Mara" });
  expect(await browser.read(`${readPage(account)}/erase`)).toContain("This cannot be undone.");
  expect((await browser.ask(`${readPage(account)}/erase`, { email: "other@example.com" })).status).toBe(400);
  expect((await asAdmin(`/accounts/${account.id}`)).status).toBe(200);
  const log = vi.spyOn(console, "log");
  expect(await (await browser.ask(`${readPage(account)}/erase`, { email: email.toUpperCase() })).text()).toContain(`${email} was erased.`);
  expect(lines(log)).toEqual([expect.objectContaining({ outcome: "erased", account: account.id, by: operator.id })]);
  expect((await asAdmin(`/accounts/${account.id}`)).status).toBe(404);
  const { results } = await env.DB.prepare("SELECT reason, after FROM quota_change WHERE account_id = ?1").bind(account.id).run();
  expect(results).toEqual([{ reason: null, after: 2_000_000 }]);
  expect((await browser.ask(`${readPage(operator)}/erase`, { email: operator.email })).status).toBe(403);
  expect(await accountByEmail(env.DB, operator.email)).toMatchObject({ id: operator.id });
});

test("a quota is increased, set and removed, and a quota below the used amount is refused with a message", async () => {
  const account = await newAccount(1);
  await submit(account, images, image());
  const quota = async (form: Record<string, string>) => {
    const response = await browser.ask(`${readPage(account)}/quota`, form);
    return [response.status, (await readBalance(account)).quota, await response.text()] as const;
  };
  expect((await quota({ how: "add", amount: "0.5" })).slice(0, 2)).toEqual([303, 1.5]);
  expect((await quota({ how: "add", amount: "-1" })).slice(0, 2)).toEqual([303, 0.5]);
  const [status, left, text] = await quota({ how: "set", amount: "0.029999" });
  expect([status, left]).toEqual([400, 0.5]);
  expect(text).toContain("used and reserved amount: $0.03");
  for (const form of [
    { how: "set", amount: "" },
    { how: "add", amount: "" },
    { how: "set", amount: "-1" },
    { how: "other", amount: "1" },
    { how: "add", amount: "1e3" },
  ])
    expect((await quota(form)).slice(0, 2), JSON.stringify(form)).toEqual([400, 0.5]);
  expect((await quota({ how: "set", amount: "0.03" })).slice(0, 2)).toEqual([303, 0.03]);
  expect((await quota({ how: "unlimited", amount: "" })).slice(0, 2)).toEqual([303, null]);
});

test("a disabled account's key is refused, and accepted after enabling; each action is logged", async () => {
  const account = await newAccount();
  const log = vi.spyOn(console, "log");
  const asked = await browser.read(`${readPage(account)}/disable`);
  expect(asked).toContain("Disable caller-");
  expect((await call("/v1/balance", { key: account.key })).status).toBe(200);
  expect((await browser.ask(`${readPage(account)}/disable`, {})).status).toBe(303);
  expect((await call("/v1/balance", { key: account.key })).status).toBe(401);
  expect(await browser.read(readPage(account))).toContain("Disabled: its keys");
  expect((await browser.ask(`${readPage(account)}/enable`, {})).status).toBe(303);
  expect((await call("/v1/balance", { key: account.key })).status).toBe(200);
  expect(await browser.read(`${readPage(account)}/keys/${account.keyId}`)).toContain("Delete the key “test”?");
  expect((await browser.ask(`${readPage(account)}/keys/${account.keyId}`, {})).status).toBe(303);
  expect((await call("/v1/balance", { key: account.key })).status).toBe(401);
  expect(lines(log)).toEqual([
    { unit: "admin", by: operator.id, account: account.id, outcome: "disabled" },
    { unit: "admin", by: operator.id, account: account.id, outcome: "enabled" },
    { unit: "admin", by: operator.id, account: account.id, outcome: "key_deleted", key: account.keyId },
  ]);
});

test("a key is deleted only at its own account's path", async () => {
  const [one, other] = [await newAccount(), await newAccount()];
  expect((await browser.ask(`${readPage(one)}/keys/${other.keyId}`, {})).status).toBe(404);
  expect((await call("/v1/balance", { key: other.key })).status).toBe(200);
});

test("an account is opened, and its user signs up by the link that is shown once", async () => {
  const email = `${unique()}@Example.com`;
  const opened = await browser.ask(`${root}/accounts`, { email, name: "Team", quota: "12.5" });
  const path = opened.headers.get("location")!;
  expect(await browser.read(path)).toContain("$12.50");
  const again = await browser.ask(`${root}/accounts`, { email: email.toLowerCase(), name: "Other", quota: "1" });
  expect([again.status, await again.text()]).toEqual([400, expect.stringContaining("already exists")]);
  const shown = await (await browser.ask(`${path}/invite`, {})).text();
  const link = new URL(/https:\/\/[^<"]+invitation=inv_\w+/.exec(shown)![0]);
  expect(link.origin).toBe("https://gateway.example");
  const guest = new Browser({ SIGNUP: "invite" });
  expect(await guest.read(link.pathname + link.search)).toContain(email.toLowerCase());
  const form = { name: "Ann", email: "", password: "correct horse battery", invitation: link.searchParams.get("invitation")! };
  expect((await guest.ask("/console/sign-up", form)).status).toBe(303);
  expect(await guest.read("/console")).toContain("$12.50");
  const page = await browser.read(path);
  expect(page).toContain(`Signs in as ${email.toLowerCase()}`);
  expect(page).not.toContain(link.searchParams.get("invitation"));
  expect((await browser.ask(`${path}/invite`, {})).status).toBe(400);
});

test.each([
  [{ email: "nobody", name: "", quota: "1" }, "not a valid e-mail address"],
  [{ email: "a@b.example", name: "x".repeat(201), quota: "1" }, "1 to 200"],
  [{ email: "a@b.example", name: "", quota: "" }, "at most six decimals"],
  [{ email: "a@b.example", name: "", quota: "-1" }, "at most six decimals"],
])("an account of %o is refused", async (form, reason) => {
  const response = await browser.ask(`${root}/accounts`, form);
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining(reason)]);
  expect(await accountByEmail(env.DB, form.email)).toBeUndefined();
});

test("user text is escaped: names, keys, and search text", async () => {
  const evil = `<script>alert("x")</script>`;
  const account = await accountNamed(evil);
  await asAdmin(`/accounts/${account.id}/keys`, { body: { name: evil, quota: null } });
  const paths = [readPage(account), `${readPage(account)}/disable`, `${root}/accounts?q=${encodeURIComponent(evil)}`];
  for (const path of paths) {
    const page = await browser.read(path);
    expect(page).toContain("&lt;script&gt;alert(");
    expect(page).not.toContain("<script>alert");
  }
});

test("an account's tasks are shown without prompts and outputs", async () => {
  const account = await newAccount();
  const body = image();
  const id = await complete(account, images, body);
  const page = await browser.read(readPage(account));
  expect(page).toContain(id);
  const task = await browser.read(`${readPage(account)}/tasks/${id}`);
  expect(task).toContain("its files are kept until they expire");
  expect(task).toContain("sandbox · <code>imgA-4</code> · Completed");
  expect(page + task).not.toContain(body.prompt);
  expect((await browser.ask(`${readPage(account)}/tasks/${id}/cancel`, {})).status).toBe(400);
  expect((await browser.ask(`${readPage(await newAccount())}/tasks/${id}`)).status).toBe(404);
});

test("a task past its deadline is shown as stuck; ending it from its page returns the money", async () => {
  const account = await newAccount(1);
  const id = await submit(account, images, image());
  const sections = async () => (await browser.read(`${root}/tasks`)).split("<h2>").map((text) => text.includes(id));
  expect(await sections()).toEqual([false, false, true]);
  await deliver(id);
  vi.setSystemTime(Date.now() + 60_000);
  expect(await sections()).toEqual([false, true, false]);
  expect(await browser.read(`${readPage(account)}/tasks/${id}`)).toContain("its next step is overdue");
  vi.setSystemTime(Date.now() + 70_000);
  expect(await sections()).toEqual([false, true, false]);
  const page = await browser.read(`${readPage(account)}/tasks/${id}`);
  expect(page).toContain("stuck: past its deadline");
  expect(await browser.read(`${readPage(account)}/tasks/${id}/cancel`)).toContain(id);
  expect((await readBalance(account)).reserved).toBe(0.03);
  const log = vi.spyOn(console, "log");
  expect((await browser.ask(`${readPage(account)}/tasks/${id}/cancel`, {})).status).toBe(303);
  expect(lines(log)).toEqual([{ unit: "admin", by: operator.id, account: account.id, outcome: "task_cancelled", task: id }]);
  const { body: logged } = await asAdmin(`/audit_log?account=${account.id}&act=task_cancelled`);
  expect(logged.data).toMatchObject([{ actor: { kind: "user" }, target: { id } }]);
  expect(await readBalance(account)).toEqual({ quota: 1, used: 0, reserved: 0, remaining: 1 });
  expect(await sections()).toEqual([false, false, false]);
});

test("opening an overdue task sets its lost alarm again", async () => {
  const account = await newAccount(1);
  const id = await submit(account, images, image());
  const object = env.TASKS.get(toObjectId(env.TASKS, id) as DurableObjectId);
  await runInDurableObject(object, (_, state) => state.storage.deleteAlarm());
  vi.setSystemTime(Date.now() + 130_000);
  expect(await alarm(id)).toBe(false);
  expect(await browser.read(`${root}/tasks`)).toContain(id);
  expect(await alarm(id)).toBe(true);
  expect(await readBalance(account)).toMatchObject({ used: 0, reserved: 0 });
});

test("a hold without a task record is shown as stuck, and has no page", async () => {
  const account = await newAccount(1);
  const charge = { taskId: toTaskId(env.TASKS.newUniqueId()), accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  const wallet = env.WALLETS.getByName(account.id);
  expect(await wallet.reserve(charge, 30_000, {})).toEqual({ answer: "reserved" });
  vi.setSystemTime(Date.now() + 61_000);
  expect(await browser.read(`${root}/tasks`)).toContain("no record");
  expect((await browser.ask(`${readPage(account)}/tasks/${charge.taskId}`)).status).toBe(404);
  expect((await browser.ask(`${readPage(account)}/tasks/${charge.taskId}/cancel`, {})).status).toBe(404);
  await wallet.settle(charge, 0, "cancelled");
});

test("the list of open tasks asks the wallets that D1 has granted something, and reads no entry", async () => {
  const [holding, quiet] = [await newAccount(1), await newAccount(1)];
  const id = await submit(holding, images, image());
  await finish(quiet, await submit(quiet, images, image()));
  const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
  expect(await browser.read(`${root}/tasks`)).toContain(id);
  const asked = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  expect(asked.filter((sql) => sql.includes("granted > 0"))).toHaveLength(1);
  expect(asked.filter((sql) => /\bentry\b/.test(sql))).toEqual([]);
  await finish(holding, id);
});

test("the audit runs on request and names wallets that disagree", async () => {
  const account = await newAccount(1);
  expect(await browser.read(root)).toContain("Run the audit");
  const agreed = await browser.read(`${root}/audit`);
  expect(agreed).toContain("Every balance agrees with the ledger.");
  expect(agreed).toContain(`<a href="${root}" aria-current="page">Overview</a>`);
  await env.DB.prepare("UPDATE wallet SET used = used + 7 WHERE id = ?1").bind(account.id).run();
  const page = await browser.read(`${root}/audit`);
  expect(page).toContain("disagree with the ledger: 1");
  expect(page).toContain(account.id);
  await env.DB.prepare("UPDATE wallet SET used = used - 7 WHERE id = ?1").bind(account.id).run();
});

test("providers are shown with their state, without secrets and URLs", async () => {
  const vars = { FAL_KEY: "secret-of-fal", FAL_BASE_URL: "https://user:pass@fal.example", ARK_API_KEY: "secret-of-ark" };
  markUnhealthy({ provider: "fal", model: "" });
  const page = await readWith(vars, `${root}/providers`);
  for (const text of ["secret-of", "fal.example", "user:pass", "test-admin", "test-signing-secret"]) expect(page).not.toContain(text);
  const row = (name: string) => new RegExp(`<tr><th scope="row">${name}</th>.*?</tr>`).exec(page)![0];
  expect(row("fal")).toContain("unhealthy: its credentials or funds failed");
  expect(row("modelark")).toContain("used in order");
  expect(row("openai")).toContain("off: no secret");
  const section = /<h3>imgA-4<\/h3>.*?<\/section>/.exec(page)![0];
  expect(section).toContain("<dt>per image</dt><dd>$0.03</dd><dt>per HD image</dt><dd>$0.06</dd>");
  expect(
    [...section.matchAll(/<li><span>(\w+)<\/span><code title=.*?<\/code><span class="meta">(.*?)<\/span><\/li>/g)].map(
      ([, name, state]) => [name, state],
    ),
  ).toEqual([
    ["modelark", "used in order"],
    ["fal", "used last: its credentials or funds failed"],
    ["replicate", "skipped: off"],
    ["cloudflare", "skipped: off"],
    ["modelark", "used in order"],
    ["modelark", "used in order"],
    ["fal", "used last: its credentials or funds failed"],
    ["cloudflare", "skipped: off"],
    ["sandbox", "skipped: not a fallback of a real provider"],
  ]);
});

test("a route that its maker has ended is shown with its last day", async () => {
  const ROUTES = { "imgA-4": [{ provider: "modelark", model: "seedream-4-5-251128", retires: "2026-01-31" }] };
  const page = await readWith({ ARK_API_KEY: "secret-of-ark", ROUTES }, `${root}/providers`);
  expect(/<h3>imgA-4<\/h3>.*?<\/section>/.exec(page)![0]).toContain("skipped: its maker has ended it (2026-01-31)");
});

test("a price that the operator set is shown beside the built-in one", async () => {
  const page = await readWith({ PRICES: { "imgA-4": { image: 50_000 } } }, `${root}/providers`);
  const [, section = ""] = /<h3>imgA-4<\/h3>(.*?)<\/section>/.exec(page)!;
  expect(section.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ")).toContain(
    "per image $0.05 set by the operator; built in: $0.03 per HD image $0.10 set by the operator; built in: $0.06",
  );
  expect(page.match(/set by the operator/g)).toHaveLength(2);
});

test("a model without a provider is marked as such", async () => {
  expect(await readWith({ SANDBOX: undefined as never }, `${root}/providers`)).toContain("the model is not available");
});

test("every page is complete HTML with its headings in order", async () => {
  const { account, id } = await newTask();
  await browser.ask("/console/language?to=ja");
  const paths = ["", "/audit", "/accounts", `/accounts/${account.id}`, `/accounts/${account.id}/tasks/${id}`, "/providers", "/tasks"];
  for (const path of paths) {
    const response = await browser.ask(root + path);
    const page = await response.text();
    expect(response.status, path).toBe(200);
    expect(page, path).toContain('<html lang="ja">');
    expect(page, path).not.toMatch(/\{\w+\}|undefined|\[object|NaN/);
    const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
    expect(levels.every((level, at) => (at === 0 ? level === 1 : level > 1 && level <= (levels[at - 1] ?? 0) + 1))).toBe(true);
  }
  await browser.ask("/console/language?to=en");
});

test("the start page shows alerts that are active and those of the last week", async () => {
  await env.DB.prepare("DELETE FROM alert").run();
  await writeHeartbeat(env.DB, Date.now());
  expect(await browser.read(root)).toContain("No alert is active.");
  const task = await submit(await newAccount(), images, image());
  const week = 7 * 86_400_000;
  for (const alert of [
    { name: "dead_letters", beganAt: Date.now() - 60_000, endedAt: null, causes: [task], told: "began" as const },
    { name: "database_size", beganAt: Date.now() - week, endedAt: Date.now() - 1_000, causes: [], told: "ended" as const },
    { name: "ledger_drift", beganAt: Date.now() - 2 * week, endedAt: Date.now() - week - 1, causes: [], told: "ended" as const },
  ])
    await writeAlert(env.DB, alert);
  const page = await browser.read(root);
  expect(page).not.toContain("No alert is active.");
  for (const shown of ["dead_letters", task, "database_size", "active", "over"]) expect(page).toContain(shown);
  expect(page).not.toContain("ledger_drift");
  await env.DB.prepare("DELETE FROM alert").run();
});

test("the start page says when the checks last ran, and that they have stopped", async () => {
  await env.DB.prepare("DELETE FROM upkeep WHERE job = 'heartbeat'").run();
  expect(await browser.read(root)).toContain("The checks have not run yet");
  await writeHeartbeat(env.DB, Date.now());
  expect(await browser.read(root)).toContain("Last checked");
  const stopped = Date.now() - 3_600_000;
  await writeHeartbeat(env.DB, stopped);
  const page = await browser.read(root);
  expect(page).toContain(`The checks last ran at <time datetime="${new Date(stopped).toISOString()}"`);
  expect(page).not.toContain("No alert is active.");
});

test("the test alert's button says that no receiver is configured, and is for admins only", async () => {
  expect(await browser.read(root)).toContain('action="/console/admin/test-alert"');
  expect((await other.browser.ask(`${root}/test-alert`, {})).status).toBe(404);
  const response = await browser.ask(`${root}/test-alert`, {});
  expect(response.status).toBe(200);
  expect(await response.text()).toContain("No receiver is configured");
});

test("the reconcile button releases a hold without a task, in several calls, and is for admins only", async () => {
  const account = await newAccount(1);
  const charge = { taskId: toTaskId(env.TASKS.newUniqueId()), accountId: account.id, keyId: account.keyId, kind: "image", model: "imgA-4" };
  await env.WALLETS.getByName(account.id).reserve(charge, 1_000, {});
  expect(await browser.read(root)).toContain('action="/console/admin/reconcile"');
  expect((await other.browser.ask(`${root}/reconcile`, {})).status).toBe(404);
  expect((await readBalance(account)).reserved).toBe(0.001);
  let after = "";
  for (let isDone = false; !isDone;) {
    const response = await browser.ask(`${root}/reconcile`, { after });
    expect(response.status).toBe(200);
    const page = await response.text();
    after = /name="after" value="([^"]+)"/.exec(page)?.[1] ?? "";
    isDone = page.includes("Every account is reconciled.");
    expect(isDone).toBe(after === "");
  }
  expect((await readBalance(account)).reserved).toBe(0);
});

test("the reconcile page lists accounts that lost changes to a restored database, and takes the operator's decision", async () => {
  const account = await newAccount();
  const { body: second } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "second", quota: null } });
  await asAdmin(`/keys/${second.id}`, { method: "DELETE" });
  expect((await call("/v1/models", { key: account.key })).status).toBe(200);
  // The account's rows as in a backup from before the deletion; the trigger allows no lower revision.
  const trigger = (await env.DB.prepare("SELECT sql FROM sqlite_master WHERE name = 'account_keys_revision'").first<{ sql: string }>())!;
  await env.DB.batch([
    env.DB.prepare("DROP TRIGGER account_keys_revision"),
    env.DB.prepare("UPDATE account SET keys_revision = 0 WHERE id = ?1").bind(account.id),
    env.DB.prepare("UPDATE api_key SET deleted_at = NULL WHERE id = ?1").bind(second.id),
    env.DB.prepare(trigger.sql),
  ]);
  vi.setSystemTime(Date.now() + 60_000);
  expect((await call("/v1/models", { key: account.key })).status).toBe(401);
  const reconcile = async (form: Record<string, string>): Promise<string> => {
    const page = await (await browser.ask(`${root}/reconcile`, form)).text();
    const after = /name="after" value="([^"]+)"/.exec(page)?.[1];
    return after === undefined ? page : page + (await reconcile({ ...form, after }));
  };
  // The account's page says why its keys are refused, and where to decide.
  const shown = await browser.read(readPage(account));
  expect(shown).toContain("The database was restored to before changes of this account.");
  expect(shown).toContain('href="/console/admin#reconcile"');
  expect(await browser.read(root)).toContain('id="reconcile"');
  const listed = await reconcile({});
  expect(listed).toContain(`key_deleted ${second.id}`);
  expect(listed).toContain('name="restored" value="replay"');
  // The decision ends every session, the admin's own included.
  expect(await reconcile({ restored: "accept" })).toContain("restored state accepted");
  expect(await browser.read(readPage(account))).not.toContain("The database was restored");
  for (const key of [account.key, second.key as string]) expect((await call("/v1/models", { key })).status).toBe(200);
});
