/** API keys over time: changes, rotation, expiry, and the shared quota of a rotated pair. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { findCaller } from "../../../src/db/callers.ts";
import { type Account, asAdmin, readBalance, call, finish, holdTime, submit, unique, image } from "../../support/gateway.ts";
import { startReplica } from "../../support/replica.ts";
import { Browser, person, secretIn } from "../support.ts";

holdTime();

/** One user for all tests: signing up is slow, and each test has its own key. */
let signedUp: ReturnType<typeof person> | undefined;

/** A new key with this quota and a unique name. */
async function newKey(quota: string, expires = ""): Promise<{ browser: Browser; account: Account; name: string }> {
  const { browser, id } = await (signedUp ??= person());
  const name = unique();
  const key = secretIn(await (await browser.ask("/console/keys", { name, quota, expires })).text());
  const { keyId } = (await findCaller(env, key))!;
  wait(1000);
  return { browser, account: { id, key, keyId }, name };
}

/** The rows of the list for keys with this name, oldest first. */
const listed = async (browser: Browser, name: string) =>
  (await browser.read("/console/keys")).split("<tr>").filter((row) => row.includes(`title="${name}">${name}</span>`));

const rotate = (browser: Browser, keyId: string, overlap: string) => browser.ask(`/console/keys/${keyId}/rotate`, { overlap });
const readStatus = async (key: string) => (await call("/v1/balance", { key })).status;
const wait = (ms: number) => vi.setSystemTime(Date.now() + ms);

test("a rotated key's successor has its name, expiry and quota, and the old key works until the overlap ends", async () => {
  const { browser, account, name } = await newKey("1.5", "2999-12-31");
  await finish(account, await submit(account, "/v1/images/generations", image()));
  expect(await browser.read(`/console/keys/${account.keyId}/rotate`)).toContain(`Rotate the key “${name}”`);
  const key = secretIn(await (await rotate(browser, account.keyId, "hour")).text());
  expect(key).not.toBe(account.key);
  const balance = { success: true, remain_balance: 1.47, used_balance: 0.03, unlimited_quota: false };
  for (const one of [key, account.key]) expect((await call("/v1/balance", { key: one })).body).toEqual(balance);
  const [old = "", successor = "", ...others] = await listed(browser, name);
  expect(others).toEqual([]);
  expect(old).toContain("replaced</span>");
  expect(old).not.toContain("/rotate");
  expect(successor).not.toContain("replaced</span>");
  expect(successor).toContain('datetime="2999-12-31T23:59:59.000Z" title="2999-12-31 23:59:59 UTC"');
  expect(successor).not.toContain(key);
  wait(3_599_999);
  expect(await readStatus(account.key)).toBe(200);
  wait(1);
  expect(await readStatus(account.key)).toBe(401);
  expect(await readStatus(key)).toBe(200);
  expect((await listed(browser, name))[0]).toContain("expired</span>");
});

test("without an overlap the old key is refused at once here, and within eight seconds where it is still cached", async () => {
  const { browser, account } = await newKey("");
  expect(await readStatus(account.key)).toBe(200);
  const key = secretIn(await (await rotate(browser, account.keyId, "now")).text());
  expect(await readStatus(account.key)).toBe(401);
  expect(await readStatus(key)).toBe(200);
  // Simulates a rotation in another isolate, which is only visible in D1.
  await env.DB.prepare("UPDATE api_key SET expires_at = ?1 WHERE coalesce(wallet_id, id) = ?2").bind(Date.now(), account.keyId).run();
  expect(await readStatus(key)).toBe(200);
  wait(8_000);
  expect(await readStatus(key)).toBe(401);
});

test("changes on the console take effect at once, however far a replica of the database lags", async () => {
  const { browser, account } = await newKey("");
  const deleted = (await newKey("")).account;
  await startReplica();
  const key = secretIn(await (await rotate(browser, account.keyId, "now")).text());
  expect([await readStatus(account.key), await readStatus(key)]).toEqual([401, 200]);
  await browser.ask(`/console/keys/${deleted.keyId}/delete`, {});
  expect(await readStatus(deleted.key)).toBe(401);
});

test("both keys of a rotation together spend at most the quota, also during parallel rotations and submissions", async () => {
  const { browser, account } = await newKey("0.1");
  const buy = async (key: string) => (await call("/v1/images/generations", { key, body: image() })).status;
  const [shown, ...during] = await Promise.all([
    rotate(browser, account.keyId, "week"),
    ...Array.from({ length: 4 }, () => buy(account.key)),
  ]);
  const key = secretIn(await shown.text());
  const after = await Promise.all(Array.from({ length: 8 }, (_, at) => buy(at % 2 ? key : account.key)));
  const bought = [...during, ...after].filter((status) => status === 200);
  expect(bought).toHaveLength(3);
  expect([...during, ...after].filter((status) => status === 402)).toHaveLength(9);
  await readBalance(account);
  expect((await call("/v1/balance", { key })).body.remain_balance).toBe(0.01);
});

test("a pair's second key can be rotated too, and each key is deleted separately", async () => {
  const { browser, account, name } = await newKey("0.05");
  const second = secretIn(await (await rotate(browser, account.keyId, "week")).text());
  wait(1000);
  const secondId = /(?<=keys\/)key_\w+(?=\/rotate)/.exec((await listed(browser, name)).join(""))![0];
  const third = secretIn(await (await rotate(browser, secondId, "hour")).text());
  expect((await call("/v1/images/generations", { key: third, body: image() })).status).toBe(200);
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(402);
  expect((await browser.ask(`/console/keys/${secondId}/delete`, {})).status).toBe(303);
  expect(await readStatus(second)).toBe(401);
  for (const key of [account.key, third]) expect(await readStatus(key)).toBe(200);
  expect((await call("/v1/balance", { key: third })).body.remain_balance).toBe(0.02);
});

test("a replaced or inactive key cannot be rotated, and the overlap is limited to the offered values", async () => {
  const { browser, account, name } = await newKey("");
  for (const overlap of ["", "year", "constructor"]) expect((await rotate(browser, account.keyId, overlap)).status).toBe(400);
  expect(await listed(browser, name)).toHaveLength(1);
  expect((await rotate(browser, account.keyId, "now")).status).toBe(200);
  wait(1000);
  const again = await rotate(browser, account.keyId, "week");
  expect(again.status).toBe(400);
  expect(await again.text()).not.toMatch(/sk-[0-9A-Za-z]{49}/);
  expect(await readStatus(account.key)).toBe(401);
});

test.each([
  ["name", { name: "", quota: "1" }, "The name must have"],
  ["quota", { name: "a", quota: "many" }, "The quota must be a number"],
  ["budget", { name: "a", quota: "", budget: "-1", window: "day" }, "The budget must be a number"],
  ["open", { name: "a", quota: "", "kind-image": "on", open: "none" }, "The number of open tasks"],
  ["expires", { name: "a", quota: "", expires: "2020-01-01" }, "The expiry must be in the future"],
])("an error of the field %s is shown above the form with a link to it, and below it", async (field, form, text) => {
  const { browser } = await newKey("1");
  const refused = await browser.ask("/console/keys", form);
  expect(refused.status).toBe(400);
  const html = await refused.text();
  expect(html).toMatch(new RegExp(`role="alert" tabindex="-1" data-focus[^]*<a href="#f-${field}">${text}`));
  expect(html).toMatch(new RegExp(`<input[^>]* name="${field}"[^>]* aria-describedby="[^"]*f-${field}-error" aria-invalid="true"`));
  expect(html).toMatch(new RegExp(`id="f-${field}-error">.*${text}`));
  if (field === "open") expect(html).toMatch(/<details[^>]* open[^]*name="kind-image" checked/);
});

test("a key's name and quota can be changed, the quota not below what is used and reserved", async () => {
  const { browser, account, name } = await newKey("1");
  await submit(account, "/v1/images/generations", image());
  const path = `/console/keys/${account.keyId}/change`;
  expect(await browser.read(path)).toContain('value="1"');
  const refused = await browser.ask(path, { name: "other", quota: "0.029999" });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("less than what is used and reserved");
  expect((await browser.ask(path, { name: "", quota: "1" })).status).toBe(400);
  expect(await listed(browser, name)).toHaveLength(1);
  expect((await browser.ask(path, { name: "exact", quota: "0.030001" })).status).toBe(303);
  expect((await call("/v1/balance", { key: account.key })).body.remain_balance).toBe(0.000001);
  expect(await listed(browser, "exact")).toHaveLength(1);
  expect((await browser.ask(path, { name: "exact", quota: "" })).status).toBe(303);
  expect((await call("/v1/balance", { key: account.key })).body.unlimited_quota).toBe(true);
});

test("the list shows when a key was last spent from; reading tasks does not count", async () => {
  const { browser, account, name } = await newKey("");
  expect((await listed(browser, name))[0]).toContain("none yet");
  const at = new Date().toISOString().slice(0, 19).replace("T", " ");
  const id = await submit(account, "/v1/images/generations", image());
  wait(600_000);
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(200);
  expect((await listed(browser, name))[0]).toContain(`${at} UTC`);
});

test("of several parallel rotations only one creates a key", async () => {
  const { browser, account, name } = await newKey("1");
  const answers = await Promise.all(Array.from({ length: 3 }, () => rotate(browser, account.keyId, "day")));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 400, 400]);
  expect(await listed(browser, name)).toHaveLength(2);
});

test("a key may be rotated in the millisecond in which it was created, and again when its successor is deleted", async () => {
  const { browser, account, name } = await newKey("1");
  await env.DB.prepare("UPDATE api_key SET created_at = ?1 WHERE id = ?2").bind(Date.now(), account.keyId).run();
  for (let time = 0; time < 2; time++) {
    const key = secretIn(await (await rotate(browser, account.keyId, "day")).text());
    expect((await listed(browser, name)).map((row) => row.includes("replaced</span>"))).toEqual([true, false]);
    const [successor = ""] = /(?<=keys\/)key_\w+(?=\/rotate)/.exec((await listed(browser, name)).join(""))!;
    expect((await browser.ask(`/console/keys/${successor}/delete`, {})).status).toBe(303);
    expect(await readStatus(key)).toBe(401);
  }
  expect(await readStatus(account.key)).toBe(200);
});

test("the operator sees both keys of a rotation with their shared quota, and deletes one; tasks and replays still work", async () => {
  const { browser, account } = await newKey("0.1");
  const [body, headers] = [image(), { "idempotency-key": unique() }];
  const taskId = await submit(account, "/v1/images/generations", body, headers);
  const key = secretIn(await (await rotate(browser, account.keyId, "week")).text());
  const keys = async () => {
    const { data } = (await asAdmin(`/accounts/${account.id}/keys`)).body as { data: { id: string; prefix: string; remaining: number }[] };
    return data.filter(({ prefix }) => [account.key, key].some((one) => one.startsWith(prefix)));
  };
  expect((await keys()).map(({ remaining }) => remaining)).toEqual([0.07, 0.07]);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { admin: true } });
  const page = await browser.ask(`/console/admin/accounts/${account.id}`);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(`${key.slice(0, 10)}…`);
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(204);
  expect((await keys()).map(({ remaining }) => remaining)).toEqual([0.07]);
  expect(await readStatus(account.key)).toBe(401);
  expect(await submit({ ...account, key }, "/v1/images/generations", body, headers)).toBe(taskId);
  await finish({ ...account, key }, taskId);
  await readBalance(account);
  expect((await call("/v1/balance", { key })).body).toMatchObject({ remain_balance: 0.07, used_balance: 0.03 });
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: true } });
  expect(await readStatus(key)).toBe(401);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { disabled: false, admin: false } });
});

test("a key's scope is set when it is created and changed later by its form", async () => {
  const { browser } = await (signedUp ??= person());
  const name = unique();
  const fields = { name, quota: "", expires: "", "kind-image": "on", "model-imgA-4": "on", "model-imgB-4o-image": "on", open: "7" };
  const key = secretIn(await (await browser.ask("/console/keys", fields)).text());
  const { keyId } = (await findCaller(env, key))!;
  const readScope = async () => {
    const { models, kinds, max_open_tasks } = (await call("/v1/key", { key })).body;
    return { models, kinds, max_open_tasks };
  };
  expect(await readScope()).toEqual({ models: ["imgA-4", "imgB-4o-image"], kinds: ["image"], max_open_tasks: 7 });
  expect(await listed(browser, name)).toEqual([expect.stringContaining("narrowed</span>")]);
  const form = await browser.read(`/console/keys/${keyId}/change`);
  expect(form).toMatch(/<details[^>]* open/);
  expect([...form.matchAll(/name="([^"]+)" checked/g)].map(([, box]) => box)).toEqual([
    "kind-image",
    "model-imgA-4",
    "model-imgB-4o-image",
  ]);
  expect(form).toMatch(/name="open"[^>]*value="7"/);
  expect((await call("/v1/videos/generations", { key, body: { model: "vidA-2", prompt: "x" } })).body.error.code).toBe("key_scope");

  const wrong = await browser.ask(`/console/keys/${keyId}/change`, { name, quota: "", open: "0" });
  expect(wrong.status).toBe(400);
  expect(await wrong.text()).toContain("The number of open tasks must be a whole number");
  const successor = secretIn(await (await rotate(browser, keyId, "hour")).text());
  expect((await call("/v1/key", { key: successor })).body).toMatchObject({ kinds: ["image"], max_open_tasks: 7 });
  await browser.ask(`/console/keys/${keyId}/change`, { name, quota: "", "kind-video": "on" });
  wait(8_000);
  for (const one of [key, successor])
    expect((await call("/v1/key", { key: one })).body).toMatchObject({ models: null, kinds: ["video"], max_open_tasks: null });
});

test("a new key's page has a call that is filled in, and sends it as this key: one task, however often it is pressed", async () => {
  const { browser, id: accountId } = await (signedUp ??= person());
  const page = await (await browser.ask("/console/keys", { name: unique(), quota: "1", expires: "" })).text();
  const key = secretIn(page);
  // The secret stands on the page once: in the command it is cut.
  expect(page.split(key)).toHaveLength(2);
  expect(page).toContain(`Bearer <span data-whole="key">${key.slice(0, 7)}…${key.slice(-4)}</span>`);
  expect(page).toMatch(/\?wait=60/);
  const [action = ""] = /\/console\/keys\/key_\w+\/send/.exec(page) ?? [];
  const listOwn = async () => (await call("/v1/tasks", { key })).body.data as { id: string }[];
  const { keyId } = (await findCaller(env, key))!;
  // The wait advances the held time, and the task ends during its first second.
  let isFirst = true;
  const waits = vi.spyOn(Object.getPrototypeOf(scheduler) as Scheduler, "wait").mockImplementation(async (ms, options) => {
    if (options?.signal) return new Promise(() => undefined);
    vi.setSystemTime(Date.now() + ms);
    if (isFirst) await finish({ id: accountId, key, keyId }, (await listOwn()).at(0)?.id ?? "");
    isFirst = false;
  });
  const sent = await (await browser.ask(action, {}, undefined, { "hx-request": "true" })).text();
  waits.mockRestore();
  const before = await listOwn();
  const taskId = before.at(0)?.id ?? "";
  expect(sent).toContain(`href="/console/tasks/${taskId}"`);
  expect(sent).toMatch(/<img src="[^"]*\/assets\//);
  expect(sent).not.toContain("<html");
  // Without script it is a page of its own; and it is the same task.
  const again = await (await browser.ask(action, {})).text();
  expect(again).toContain("<html");
  expect(again).toContain(`href="/console/tasks/${taskId}"`);
  expect(await listOwn()).toEqual(before);
  expect((await call("/v1/balance", { key })).body).toMatchObject({ used_balance: 0.03 });
});

test("a first call that the key's limits refuse says why", async () => {
  const { browser } = await (signedUp ??= person());
  for (const [limits, reason] of [
    [{ quota: "0.01" }, /quota|balance/i],
    [{ quota: "", "kind-video": "on" }, /must be video/],
  ] as const) {
    const page = await (await browser.ask("/console/keys", { name: unique(), expires: "", ...limits })).text();
    const [action = ""] = /\/console\/keys\/key_\w+\/send/.exec(page) ?? [];
    const answer = await browser.ask(action, {}, undefined, { "hx-request": "true" });
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toMatch(/class="note bad"/);
    expect(text).toMatch(reason);
  }
  expect((await browser.ask("/console/keys/key_of_someone_else/send", {})).status).toBe(404);
});

test("a paused key is refused on every path within ten seconds, cannot be rotated, and works again once it is resumed", async () => {
  const { browser, account, name } = await newKey("");
  const token = (await call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1 } })).body.token as string;
  const task = await submit(account, "/v1/images/generations", image());
  expect((await browser.ask(`/console/keys/${account.keyId}/pause`, {})).headers.get("location")).toBe("/console/keys?done=paused");
  wait(10_000);
  for (const path of ["/v1/balance", "/v1/user/balance", "/v1/tasks", `/v1/tasks/${task}`, "/v1/models", "/v1/key"])
    expect([path, (await call(path, { key: account.key })).status]).toEqual([path, 401]);
  expect((await call("/v1/images/generations", { key: account.key, body: image() })).status).toBe(401);
  expect((await call(`/v1/tasks/${task}`, { key: token })).status).toBe(401);
  const [row = ""] = await listed(browser, name);
  expect(row).toContain("paused</span>");
  expect(row).toContain("/resume");
  expect(row).not.toContain("/rotate");
  expect((await rotate(browser, account.keyId, "now")).status).toBe(400);
  expect((await asAdmin(`/accounts/${account.id}/keys`)).body.data).toContainEqual(
    expect.objectContaining({ id: account.keyId, paused_at: Math.floor((Date.now() - 10_000) / 1000) }),
  );
  // Pausing it again keeps the time and logs nothing.
  await browser.ask(`/console/keys/${account.keyId}/pause`, {});
  expect((await browser.ask(`/console/keys/${account.keyId}/resume`, {})).status).toBe(303);
  wait(10_000);
  expect(await readStatus(account.key)).toBe(200);
  expect((await call("/v1/key", { key: account.key })).body).toMatchObject({ paused_at: null });
  await finish(account, task);
  const acts = await env.DB.prepare("SELECT act FROM audit_log WHERE account_id = ?1 AND target = ?2 ORDER BY at, id")
    .bind(account.id, account.keyId)
    .all<{ act: string }>();
  expect(acts.results.map(({ act }) => act)).toEqual(["key_created", "key_paused", "key_resumed"]);
  const log = await browser.read("/console/audit-log?kind=keys");
  for (const words of ["Paused the key", "Resumed the key"]) expect(log).toContain(words);
});

test("the operator pauses a key too, and a stranger cannot", async () => {
  const { account } = await newKey("");
  const stranger = new Browser();
  await stranger.signUp();
  expect((await stranger.ask(`/console/keys/${account.keyId}/pause`, {})).status).toBe(404);
  const path = `/keys/${account.keyId}`;
  expect((await asAdmin(path, { method: "PATCH", body: { paused: true } })).body).toMatchObject({
    paused_at: Math.floor(Date.now() / 1000),
  });
  wait(10_000);
  expect(await readStatus(account.key)).toBe(401);
  expect((await asAdmin(path, { method: "PATCH", body: { paused: "yes" } })).body.error).toMatchObject({ param: "paused" });
  expect((await asAdmin(path, { method: "PATCH", body: { paused: false } })).body).toMatchObject({ paused_at: null });
  wait(10_000);
  expect(await readStatus(account.key)).toBe(200);
});
