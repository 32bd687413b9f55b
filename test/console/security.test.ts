/** Access rules of every route of the console, whatever is sent and by which user; and where a key's secret must not appear. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test, vi } from "vitest";
import { accountByEmail } from "../../src/db/accounts.ts";
import { findCaller } from "../../src/db/callers.ts";
import { insertConversation } from "../../src/db/conversations.ts";
import { writeRequests } from "../../src/db/request-pages.ts";
import { pages } from "../../src/console/pages.tsx";
import { asAdmin, call, complete, holdTime, submit, unique, image } from "../support/gateway.ts";
import { hashedPath } from "../../src/console/static-files.ts";
import { openStub } from "../support/faults.ts";
import { Browser, person } from "./support.ts";

holdTime();

const images = "/v1/images/generations";
/** Included in every text that a user can enter, unless the test sets it. */
const script = `"'><script>alert(1)</script>`;
const secretPattern = /sk-[0-9A-Za-z]{49}/g;

/** Every registered route of the console, without middleware. The public pages (`site.test.ts`) have no user, and thumbnails depend only on their URL's signature (`gallery.test.ts`). */
const routes = pages.routes.filter(({ method, path }, at, all) => {
  const isFirst = all.findIndex((other) => other.method === method && other.path === path) === at;
  return method !== "ALL" && isFirst && /^\/console(\/|$)/.test(path) && !path.startsWith("/console/thumbnails/");
});

/** The pages without sign-in. All other routes need it. */
const open = new Set(
  [
    "static/:name",
    "language",
    "theme",
    "sign-in",
    "sign-up",
    "sign-out",
    "forgot",
    "reset",
    "login/:login",
    "auth/callback/:login",
    "passkeys",
  ]
    .concat("passkeys/options")
    .map((path) => `/console/${path}`),
);

/** A user with one of each kind of record that pages show. */
async function personWithAll() {
  const { browser, email, id: accountId } = await person();
  const keyName = unique();
  const [key = ""] = (await (await browser.ask("/console/keys", { name: keyName + script, quota: "", expires: "" })).text()).match(
    secretPattern,
  )!;
  const { keyId } = (await findCaller(env, key))!;
  const prompt = unique();
  const taskId = await complete({ id: accountId, key, keyId }, images, { model: "imgA-4", prompt: prompt + script });
  const { id: memberId, userId } = (await env.DB.prepare("SELECT id, user_id AS userId FROM membership WHERE account_id = ?1")
    .bind(accountId)
    .first<{ id: string; userId: string }>())!;
  const session = (await env.DB.prepare("SELECT id, token FROM auth_session WHERE userId = ?1").bind(userId).first<{
    id: string;
    token: string;
  }>())!;
  const [passkeyId, characterId, username] = [unique(), `ch_${unique()}`, unique()];
  await env.DB.batch([
    env.DB.prepare(
      "INSERT INTO auth_passkey (id, name, publicKey, userId, credentialID, counter, deviceType, backedUp) VALUES (?1, ?1 || ?3, '', ?2, ?1, 0, '', 0)",
    ).bind(passkeyId, userId, script),
    env.DB.prepare(
      `INSERT INTO character (id, account_id, username, display_name, model, provider, picture_type, picture_digest, created_at)
       VALUES (?1, ?2, ?3, ?3 || ?4, 'vidA-2', 'sandbox', 'image/png', '', 0)`,
    ).bind(characterId, accountId, username, script),
  ]);
  const line = { custom_id: "one", endpoint: images, body: { model: "imgA-4", prompt } };
  const { id: fileId } = (
    await call("/v1/files", { key, method: "POST", body: JSON.stringify(line), headers: { "content-type": "application/jsonl" } })
  ).body as { id: string };
  const { id: batchId } = (await call("/v1/batches", { key, body: { input_file: fileId } })).body as { id: string };
  const conversationId = `conv_${unique()}`;
  const turns = JSON.stringify([{ question: prompt + script, replies: [{ model: "textA-1", text: script, state: "done" }] }]);
  await insertConversation(env.DB, { accountId, userId }, { id: conversationId, title: prompt + script, at: 1, turns });
  const requestId = `request-${unique()}`;
  const refused = { path: `POST ${images}`, status: 402, outcome: "insufficient_quota", ms: 3, key: keyId };
  await writeRequests(env.DB, [{ account: accountId, at: Date.now(), request: requestId, ...refused }]);
  const names = {
    key,
    email,
    accountId,
    userId,
    memberId,
    keyId,
    keyName,
    prompt,
    taskId,
    passkeyId,
    characterId,
    username,
    session: session.id,
    fileId,
    batchId,
    requestId,
    conversationId,
  };
  return { browser, token: session.token, ...names, marks: Object.values(names) };
}

let owner: Awaited<ReturnType<typeof personWithAll>>;
let stranger: Browser;

beforeAll(async () => {
  stranger = new Browser();
  [owner] = await Promise.all([personWithAll(), stranger.signUp()]);
});

/** The path of a route, filled in with the owner's ids. */
function pathTo(route: string): string {
  const { accountId, memberId, keyId, taskId, passkeyId, characterId, session, fileId, batchId, requestId, conversationId } = owner;
  const kinds: Record<string, string> = {
    keys: keyId,
    members: memberId,
    invitations: memberId,
    tasks: taskId,
    characters: characterId,
    sessions: session,
    passkeys: passkeyId,
    picture: taskId,
    batches: batchId,
    files: fileId,
    chat: conversationId,
  };
  const kind = /\/(\w+)\/:id/.exec(route)?.[1] ?? "";
  const names: Record<string, string> = {
    id: kinds[kind] ?? accountId,
    key: keyId,
    task: taskId,
    action: "disable",
    request: requestId,
    login: "github",
    model: "vidA-2",
    number: "0",
    ids: taskId,
    name: hashedPath("console.css").split("/").at(-1)!,
  };
  return route.replace(/:(\w+)/g, (_, name: string) => names[name] ?? "").replace(/(?<=.)\/$/, "");
}

const isOnesOwn = (path: string) => /:(?!name|login|model)/.test(path);

/** The fields of all forms, with values that would take something from the owner. */
const form = () => ({
  overlap: "now",
  name: "taken",
  quota: "1",
  how: "unlimited",
  amount: "1",
  prompt: "taken",
  request: "vidA-2/10",
  start: "0",
  end: "3",
  token: owner.token,
  old: "wrong horse battery",
  new: "taken horse battery",
  password: "wrong horse battery",
  email: owner.email,
  do: "run",
  title: "taken",
  say: "taken",
  model: "imgA-4",
});

/** Every row of D1 with its table. */
async function everyRow(): Promise<[table: string, row: string][]> {
  const { results: tables } = await env.DB.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*'").run<{
    name: string;
  }>();
  const rows = await env.DB.batch<object>(tables.map(({ name }) => env.DB.prepare(`SELECT * FROM "${name}"`)));
  return rows.flatMap(({ results }, at) => results.map((row): [string, string] => [tables[at]!.name, JSON.stringify(row)]));
}

/** The rows of D1 that belong to the owner. */
const ownersRows = async () =>
  (await everyRow()).filter(([, row]) => owner.marks.some((mark) => row.includes(mark))).sort(([a, b], [c, d]) => (a + b < c + d ? -1 : 1));

test("visitors are redirected to the sign-in page from every page that needs sign-in", async () => {
  const before = await ownersRows();
  expect(before.length).toBeGreaterThan(10);
  for (const { method, path } of routes.filter((route) => !open.has(route.path))) {
    const response = await new Browser().ask(pathTo(path), method === "POST" ? form() : undefined);
    // The redirect from a page contains the return path; that of a run also contains the typed values.
    const back =
      (method === "GET" || path === "/console/playground") && path !== "/console" ? `?to=${encodeURIComponent(pathTo(path))}` : "";
    expect([response.status, response.headers.get("location")], `${method} ${path}`).toEqual([303, `/console/sign-in${back}`]);
    expect(await response.text()).toBe("");
  }
  expect(await ownersRows()).toEqual(before);
});

// Every path of the console, some of them twice.
test("other users' records are 404 for every method and input", { timeout: 120_000 }, async () => {
  const before = await ownersRows();
  const ending = new Set(["/console/sign-out", "/console/account/sessions/end"]);
  expect(routes.filter(({ path }) => isOnesOwn(path)).length).toBeGreaterThan(20);
  for (const { method, path } of routes.filter((route) => !ending.has(route.path))) {
    const isAdmins = path.startsWith("/console/admin");
    for (const way of method === "GET" && isOnesOwn(path) ? [method, "DELETE"] : [method]) {
      const response = await stranger.ask(pathTo(path), way === "GET" ? undefined : form(), undefined, {}, way);
      const text = await response.text();
      const what = `${way} ${path}`;
      expect(response.status, what).toBeLessThan(500);
      if (way !== method || isAdmins || isOnesOwn(path)) expect(response.status, what).toBe(404);
      // The sign-in and sign-up forms keep the values that were typed.
      // So does an invitation, which names its address.
      const shown = /sign-(?:in|up)$|members\/invite$/.test(path)
        ? text.replace(`value="${form().email}"`, "").replace(form().email, "")
        : text;
      for (const mark of owner.marks) expect(shown, what).not.toContain(mark);
      expect(response.headers.get("content-security-policy"), what).toContain("default-src 'none'");
    }
  }
  // Lists, filters and exports with another user's ids in the query.
  for (const path of [
    `tasks?after=${owner.taskId}`,
    `characters?after=${owner.characterId}`,
    `usage?after=${Date.now() + 1}_${owner.taskId}`,
    "usage/charges.csv?days=90",
    `playground?from=${owner.taskId}`,
  ]) {
    const text = await stranger.read(`/console/${path}`);
    for (const mark of [owner.prompt, owner.keyName, owner.username]) expect(text, path).not.toContain(mark);
  }
  // A wrong password for the owner's address is a row of the owner's audit log, and of what bounds such rows and such guesses.
  const isFailedSignIn = ([table, row]: readonly [string, string]) =>
    (table === "audit_log" && row.includes('"act":"sign_in_failed"')) ||
    (table === "auth_rate_limit" && /"(failed sign-in|guess) /.test(row));
  const after = await ownersRows();
  expect(after.filter((row) => !isFailedSignIn(row))).toEqual(before);
  expect(after.filter(isFailedSignIn).map(([table]) => table)).toEqual(["audit_log", "auth_rate_limit", "auth_rate_limit"]);
  // The paths are correct: the owner gets the pages. Receipts are Stripe's, and tested with payments.
  for (const { method, path } of routes.filter(
    (route) => route.method === "GET" && isOnesOwn(route.path) && !/^\/console\/(admin|billing\/receipts)\b/.test(route.path),
  ))
    // Runs are part of a page; without script their path leads to the whole page.
    expect((await owner.browser.ask(pathTo(path))).status, `${method} ${path}`).toBe(path.endsWith("/runs/:ids") ? 303 : 200);
  expect((await owner.browser.ask(pathTo("/console/account/passkeys/:id/delete"), {})).status).toBe(303);
});

test("no form from another origin has an effect, also in the owner's browser", async () => {
  const before = await ownersRows();
  const posts = routes.filter(({ method }) => method === "POST");
  expect(posts.length).toBeGreaterThan(25);
  for (const { path } of posts)
    for (const from of [null, "null", "https://evil.example", "http://gateway.example", "https://gateway.example.evil.example"]) {
      const response = await owner.browser.ask(pathTo(path), form(), from);
      expect(response.status, `${path} from ${from}`).toBe(403);
    }
  expect(await ownersRows()).toEqual(before);
});

/** Every page as its owner sees it. */
const ownPages = () => routes.filter(({ method, path }) => method === "GET" && !path.includes("/static/")).map(({ path }) => pathTo(path));

test("user text is never markup, whether stored or in the URL, and never sets a header", async () => {
  const names = "invitation token error done problem q after days kind status model from prompt to language size".split(" ");
  const query = new URLSearchParams(names.map((name) => [name, `${script}\r\nx-made: up`])).toString();
  expect((await asAdmin(`/accounts/${owner.accountId}`, { method: "PATCH", body: { admin: true } })).status).toBe(200);
  let shown = 0;
  for (const path of ownPages().flatMap((page) => [page, `${page}?${query}`])) {
    const response = await owner.browser.ask(path);
    expect(response.status, path).toBeLessThan(500);
    expect(response.headers.has("x-made"), path).toBe(false);
    expect(response.headers.get("location") ?? "/console", path).toMatch(/^\/console/);
    expect(response.headers.get("cache-control"), path).toBe("no-store");
    if (!response.headers.get("content-type")?.startsWith("text/html")) continue;
    const text = await response.text();
    expect(text, path).not.toContain("<script>alert");
    expect(text, path).not.toMatch(/<[^>]*\s(on\w+|style)=|javascript:/);
    if (text.includes("&lt;script&gt;alert(1)")) shown++;
  }
  expect(shown).toBeGreaterThan(8);
});

test("a key's secret is shown once and appears nowhere else: no other page, log line, row of D1 or object", async () => {
  const logs = ["log", "error", "warn", "info", "debug"] as const;
  const lines = logs.map((name) => vi.spyOn(console, name).mockImplementation(() => undefined));
  const { browser, accountId, email } = owner;
  const shown = async (path: string, fields: Record<string, string>) =>
    (await (await browser.ask(path, fields)).text()).match(secretPattern) ?? [];
  const created = await shown("/console/keys", { name: unique(), quota: "1", expires: "" });
  expect(created).toHaveLength(1);
  const { keyId } = (await findCaller(env, created[0]!))!;
  vi.setSystemTime(Date.now() + 1000);
  const rotated = await shown(`/console/keys/${keyId}/rotate`, { overlap: "week" });
  expect(rotated).toHaveLength(1);
  const byAdmin = (await asAdmin(`/accounts/${accountId}/keys`, { body: { name: "admin", quota: null } })).body.key as string;
  const secrets = [...created, ...rotated, byAdmin];
  expect(new Set(secrets).size).toBe(3);
  const tasks = await Promise.all(
    secrets.map((key) => submit({ id: accountId, key, keyId }, images, image(), { "idempotency-key": unique() })),
  );
  const texts = [JSON.stringify((await asAdmin(`/accounts/${accountId}/keys`)).body)];
  for (const key of secrets)
    for (const path of ["/v1/balance", "/v1/user/balance", "/v1/tasks"]) texts.push(JSON.stringify((await call(path, { key })).body));
  for (const path of ownPages()) texts.push(await browser.read(path));
  for (const id of tasks)
    texts.push(
      await runInDurableObject(openStub(id), (_, ctx) => {
        const tables = ctx.storage.sql.exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB '_cf*'",
        );
        const rows = [...tables].flatMap(({ name }) => [...ctx.storage.sql.exec(`SELECT * FROM "${name}"`)]);
        return JSON.stringify([rows, [...ctx.storage.kv.list()]]);
      }),
    );
  texts.push(...(await everyRow()).map(([, row]) => row));
  texts.push(...lines.flatMap((spy) => spy.mock.calls.map((values) => values.map(String).join(" "))));
  const all = texts.join("\n");
  for (const known of [email, ...tasks, byAdmin.slice(0, 10)]) expect(all).toContain(known);
  for (const secret of secrets) expect(all).not.toContain(secret.slice(10));
  expect(all.match(secretPattern)).toBeNull();
});

const sends = (path: string, body: string, type: string) => owner.browser.ask(path, body, undefined, { "content-type": type });
const boundary = "multipart/form-data; boundary=b";
const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n';

test.each([
  ["{}", "application/json"],
  ["x", ""],
  ["x", "multipart/form-data"],
  ["x", boundary],
  [part, boundary],
  [`--b\r\n${"X".repeat(20_000)}: y\r\n\r\nx\r\n--b--\r\n`, boundary],
  [`${part.repeat(5_000)}--b--\r\n`, boundary],
  [`${part.replace("\r\n\r\n", "\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\n")}--c--\r\n--b--\r\n`, boundary],
  ["name=%FF%FE%00&quota=%ED%A0%80&email=%00", "application/x-www-form-urlencoded"],
  [`name=${"x".repeat(300_000)}`, "application/x-www-form-urlencoded"],
])("a body that is not a form is refused without a 500: %o as %s", async (body, type) => {
  const alerts = vi.spyOn(console, "error").mockImplementation(() => undefined);
  for (const path of [
    "/console/forgot",
    "/console/sign-up",
    "/console/passkeys",
    "/console/keys",
    "/console/playground",
    "/console/account/password",
  ]) {
    const { status } = await sends(path, body, type);
    expect([200, 303, 400, 404, 413, 429], `${path} ${status}`).toContain(status);
  }
  expect(alerts).not.toHaveBeenCalled();
});

test("reading a form stops at the size limit", async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 65_536;
      controller.enqueue(new Uint8Array(65_536).fill(97));
    },
  });
  const type = { "content-type": "application/x-www-form-urlencoded" };
  expect((await new Browser().ask("/console/sign-in", endless, undefined, type)).status).toBe(413);
  expect(sent).toBeLessThan(1_000_000);
});

test("names and addresses of new users have a length limit", async () => {
  const browser = new Browser();
  for (const [name, local] of [
    ["", "a"],
    ["x".repeat(201), "a"],
    ["x", "a".repeat(250)],
  ] as const) {
    const form = { name, email: `${local}-${unique()}@example.com`, password: "correct horse battery" };
    expect((await browser.ask("/console/sign-up", form)).status).toBe(400);
    expect(await accountByEmail(env.DB, form.email)).toBeUndefined();
  }
});
