/** Every page and form of the console, and every call of the API, against every role. A new route without a line here fails. Contract 18. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type Role, roles } from "../../../src/base/roles.ts";
import { mayOpen } from "../../../src/console/access.ts";
import { pages } from "../../../src/console/pages.tsx";
import description from "../../../src/console/site/openapi.json" with { type: "json" };
import { call, finish, holdTime, unique } from "../../support/gateway.ts";
import { Browser, person } from "../support.ts";

holdTime();

/** The roles that may send a request, as letters: Owner, Admin, Member, Viewer. */
const letters: Record<Role, string> = { owner: "O", admin: "A", member: "M", viewer: "V" };

/** Routes for everybody, also without an account. */
const forAll =
  /^\/(?!console(\/|$))|^\/console\/(static|thumbnails|language|theme|sign-in|sign-up|sign-out|forgot|reset|confirm|join|auth|verified|login|passkeys)(\/|$)|\*/;

const table: [method: string, path: RegExp, who: string][] = [
  ["GET", /^\/console(\/running)?$/, "OAMV"],
  ["GET", /^\/console\/account/, "OAMV"],
  ["POST", /^\/console\/account/, "OAMV"],
  ["POST", /^\/console\/switch$/, "OAMV"],
  ["GET", /^\/console\/credit$/, "OAMV"],
  ["POST", /^\/console\/credit$/, "OAMV"],
  ["POST", /^\/console\/first$/, "OAM"],
  ["GET", /^\/console\/(playground|chat)/, "OAM"],
  ["POST", /^\/console\/(playground|chat)/, "OAM"],
  ["GET", /^\/console\/tasks/, "OAMV"],
  ["POST", /^\/console\/tasks/, "OAM"],
  ["GET", /^\/console\/characters/, "OAMV"],
  ["POST", /^\/console\/characters/, "OAM"],
  ["GET", /^\/console\/(batches|files)/, "OAMV"],
  ["POST", /^\/console\/(batches|files)/, "OAM"],
  ["GET", /^\/console\/destinations$/, "OAMV"],
  ["GET", /^\/console\/destinations\//, "OA"],
  ["POST", /^\/console\/destinations/, "OA"],
  ["GET", /^\/console\/(models|usage|logs)/, "OAMV"],
  ["GET", /^\/console\/search$/, "OAMV"],
  ["POST", /^\/console\/try\/:id$/, "OAM"],
  ["GET", /^\/console\/webhooks/, "OA"],
  ["POST", /^\/console\/webhooks/, "OA"],
  ["GET", /^\/console\/keys$/, "OAMV"],
  ["POST", /^\/console\/keys$/, "OAM"],
  ["GET", /^\/console\/keys\/:id/, "OAM"],
  ["POST", /^\/console\/keys\/:id/, "OAM"],
  ["GET", /^\/console\/members$/, "OAMV"],
  ["GET", /^\/console\/members\/leave$/, "OAMV"],
  ["POST", /^\/console\/members\/leave$/, "OAMV"],
  ["GET", /^\/console\/members\/(:id|invitations|sign-in)/, "OA"],
  ["POST", /^\/console\/members\//, "OA"],
  ["GET", /^\/console\/audit-log/, "OA"],
  ["GET", /^\/console\/billing\/(receipts|card)/, "OA"],
  ["GET", /^\/console\/billing/, "OAMV"],
  ["POST", /^\/console\/billing/, "OA"],
  ["GET", /^\/console\/admin/, "OA"],
  ["POST", /^\/console\/admin/, "OA"],
];

const routes = [...new Map(pages.routes.map(({ method, path }) => [`${method} ${path}`, { method, path }])).values()].filter(
  ({ method, path }) => method !== "ALL" && !forAll.test(path),
);

test("every page and form of the console is for the roles of its line", () => {
  expect(routes.length).toBeGreaterThan(60);
  for (const { method, path } of routes) {
    const place = path.replace(/(?<=.)\/$/, "");
    const line = table.find(([way, pattern]) => way === method && pattern.test(place));
    expect(line, `${method} ${place} needs a line`).toBeDefined();
    const who = roles.filter((role) => mayOpen(role, method, place.replace(/:\w+/g, "x")));
    expect([`${method} ${place}`, who.map((role) => letters[role]).join("")]).toEqual([`${method} ${place}`, line![2]]);
  }
});

test("a path without a rule is for owners alone", () => {
  for (const role of roles)
    for (const method of ["GET", "POST", "DELETE"])
      expect(mayOpen(role, method, "/console/something-new"), `${role} ${method}`).toBe(role === "owner");
});

/** Calls of the API that a member's key may not make. */
const managed = new Set([
  "POST /v1/payments",
  "GET /v1/webhook",
  "PUT /v1/webhook",
  "GET /v1/webhook_secret",
  "POST /v1/webhook_secret",
  "POST /v1/webhook/test",
  "PUT /v1/destinations/{destination}",
  "DELETE /v1/destinations/{destination}",
  "POST /v1/destinations/{destination}/test",
  "GET /v1/events",
  "GET /v1/audit_log",
]);
/** Calls of the API with a key: the paths of `/openapi.json` below /v1. */
const calls = Object.entries(description.paths as unknown as Record<string, Record<string, { security?: object[] }>>).flatMap(
  ([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => path.startsWith("/v1/") && JSON.stringify(security ?? []).includes("apiKey"))
      .map(([method]) => [method.toUpperCase(), path] as const),
);

/** A new user, invited to the owner's account. */
async function join(owner: Browser, role: Role): Promise<Browser> {
  const email = `${unique()}@example.com`;
  const page = await (await owner.ask("/console/members/invite", { email, role })).text();
  const browser = new Browser();
  const invitation = /invitation=(join_\w+)/.exec(page)?.[1] ?? "";
  await browser.ask("/console/sign-up", { name: role, email, password: "correct horse battery", invitation });
  return browser;
}

/** Keys of users with each role in one account. */
async function keysByRole() {
  const { browser, id: accountId } = await person();
  const makeKey = async (one: Browser) => /sk-\w{49}/.exec(await (await one.ask("/console/keys", { name: unique() })).text())?.[0] ?? "";
  const keyOf = async (role: Role) => makeKey(await join(browser, role));
  return { accountId, keys: { owner: await makeKey(browser), admin: await keyOf("admin"), member: await keyOf("member") } };
}

test("every call of the API with the key of each role is allowed or refused as its line says", async () => {
  const { keys } = await keysByRole();
  expect(calls.length).toBeGreaterThan(35);
  for (const name of managed) expect(calls.map(([method, path]) => `${method} ${path}`)).toContain(name);
  for (const [method, path] of calls)
    for (const [role, key] of Object.entries(keys)) {
      const place = path.replace(/\{\w+\}/g, "unknown");
      const answer = await call(place, { key, method });
      const isRefused = answer.status === 403 && answer.body.error?.code === "key_scope";
      const name = `${method} ${path}`;
      expect([role, name, isRefused]).toEqual([role, name, role === "member" && managed.has(name)]);
      expect(answer.status, name).not.toBe(401);
    }
});

test("a member's key sees the member's own tasks and usage, an admin's those of all", async () => {
  const { accountId, keys } = await keysByRole();
  await env.DB.prepare("UPDATE wallet SET quota = 100000000 WHERE id = ?1").bind(accountId).run();
  const made: Record<string, string> = {};
  for (const [role, key] of Object.entries(keys)) {
    const { status, body } = await call("/v1/images/generations", { key, body: { model: "imgA-4", prompt: unique() } });
    expect(status).toBe(200);
    made[role] = body.id;
  }
  const list = async (key: string) => (await call("/v1/tasks", { key })).body.data.map(({ id }: { id: string }) => id).toSorted();
  expect(await list(keys.member)).toEqual([made.member]);
  expect(await list(keys.admin)).toEqual(Object.values(made).toSorted());
  const own = (method: string, path: string) => call(path, { key: keys.member, method });
  for (const [method, path] of [
    ["GET", `/v1/tasks/${made.owner}`],
    ["DELETE", `/v1/tasks/${made.owner}`],
    ["POST", `/v1/tasks/${made.owner}/cancel`],
    ["GET", `/v1/tasks/${made.owner}/events`],
    ["GET", `/v1/tasks/${made.owner}/receipt`],
    ["GET", `/v1/tasks/${made.owner}/callback`],
    ["POST", `/v1/tasks/${made.owner}/callback`],
  ] as const)
    expect([path, (await own(method, path)).status]).toEqual([path, 404]);
  expect((await own("GET", `/v1/tasks/${made.member}`)).status).toBe(200);
  expect((await own("GET", "/v1/usage?group_by=reference")).status).toBe(403);
  expect((await own("POST", `/v1/tasks/${made.member}/cancel`)).status).toBe(200);
  for (const role of ["owner", "admin"]) await call(`/v1/tasks/${made[role]}/cancel`, { key: keys.admin, method: "POST" });
  const usage = async (key: string) => (await call("/v1/usage?group_by=key", { key })).body.data.length;
  expect([await usage(keys.member), await usage(keys.admin)]).toEqual([1, 3]);
});

test("a member's key sees, cancels and names the member's own batches and files, an admin's those of all", async () => {
  const { accountId, keys } = await keysByRole();
  await env.DB.prepare("UPDATE wallet SET quota = 100000000 WHERE id = ?1").bind(accountId).run();
  const batches: Record<string, string> = {};
  const files: Record<string, string> = {};
  for (const [role, key] of Object.entries(keys)) {
    const line = { custom_id: role, endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: unique() } };
    const headers = { "content-type": "application/jsonl", "idempotency-key": "same for all" };
    const file = await call("/v1/files", { key, method: "POST", body: JSON.stringify(line), headers });
    const batch = await call("/v1/batches", { key, body: { input_file: file.body.id } });
    expect([file.status, batch.status]).toEqual([201, 201]);
    [files[role], batches[role]] = [file.body.id, batch.body.id];
  }
  const list = async (path: string, key: string) =>
    (await call(path, { key })).body.data.map(({ id }: { id: string }) => id).toSorted() as string[];
  expect(await list("/v1/batches", keys.member)).toEqual([batches.member]);
  expect(await list("/v1/batches", keys.admin)).toEqual(Object.values(batches).toSorted());
  expect(await list("/v1/files", keys.member)).toEqual([files.member]);
  expect(await list("/v1/files", keys.admin)).toEqual(Object.values(files).toSorted());
  for (const [method, path] of [
    ["GET", `/v1/batches/${batches.owner}`],
    ["POST", `/v1/batches/${batches.owner}/cancel`],
    ["GET", `/v1/batches/${batches.owner}/results`],
    ["GET", `/v1/batches/${batches.owner}/files.zip`],
    ["GET", `/v1/files/${files.owner}`],
    ["GET", `/v1/files/${files.owner}/content`],
    ["DELETE", `/v1/files/${files.owner}`],
  ] as const)
    expect([path, (await call(path, { key: keys.member, method })).status]).toEqual([path, 404]);
  const named = await call("/v1/batches", { key: keys.member, body: { input_file: files.owner } });
  expect([named.status, named.body.error?.param]).toEqual([400, "input_file"]);
  const use = async (key: string) =>
    (await call("/v1/images/generations", { key, body: { model: "imgA-4", prompt: "x", images: [files.owner] } })).body.error;
  const [forMember, forAdmin] = [await use(keys.member), await use(keys.admin)];
  expect([forMember.param, forAdmin.param]).toEqual(["images[0]", "images[0]"]);
  // For the admin the file exists, but it is no image.
  expect(forMember.message).not.toBe(forAdmin.message);
  expect((await call(`/v1/batches/${batches.owner}`, { key: keys.admin })).status).toBe(200);
  expect((await call(`/v1/batches/${batches.member}/cancel`, { key: keys.member, method: "POST" })).status).toBe(200);
  expect((await call(`/v1/files/${files.member}`, { key: keys.member, method: "DELETE" })).status).toBe(204);
  // The same request of another member with the same idempotency key does not show that member's batch.
  const requests = [{ custom_id: "a", endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: "p" } }];
  const once = (key: string) => call("/v1/batches", { key, body: { requests }, headers: { "idempotency-key": "once" } });
  expect([(await once(keys.owner)).status, (await once(keys.member)).status]).toEqual([201, 409]);
  const both = await Promise.all(
    [keys.owner, keys.member].map(async (key) => {
      const sent = { key, body: { requests }, headers: { "idempotency-key": "at once" } };
      const { status, body } = await call("/v1/batches", sent);
      return status === 409 || (await call(`/v1/batches/${body.id}`, { key })).status === 200;
    }),
  );
  expect(both).toEqual([true, true]);
  // Nor that member's task, which this one could not read.
  const submit = (key: string, idempotencyKey = "one task") =>
    call("/v1/images/generations", { key, body: { model: "imgA-4", prompt: "p" }, headers: { "idempotency-key": idempotencyKey } });
  expect([(await submit(keys.member)).status, (await submit(keys.member)).headers.get("idempotent-replayed")]).toEqual([200, "true"]);
  expect([(await submit(keys.owner)).body.id]).toEqual([(await submit(keys.member)).body.id]);
  expect([(await submit(keys.owner, "two")).status, (await submit(keys.member, "two")).body.error?.code]).toEqual([
    200,
    "idempotency_conflict",
  ]);
  const readable = await Promise.all(
    [keys.owner, keys.member].map(async (key) => {
      const { status, body } = await submit(key, "three");
      return status === 409 || (await call(`/v1/tasks/${body.id}`, { key })).status === 200;
    }),
  );
  expect(readable).toEqual([true, true]);
});

test("a member's pages show the member's own batches and files", async () => {
  const { browser: owner } = await person();
  const member = await join(owner, "member");
  const line = { custom_id: "a", endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt: unique() } };
  const form = new FormData();
  form.set("file", new File([JSON.stringify(line)], "owners-lines.jsonl", { type: "application/jsonl" }));
  const review = await owner.ask("/console/batches/file", form);
  expect(review.status).toBe(303);
  const file = /file_[\w-]+/.exec(review.headers.get("location")!)![0];
  const fields = { file, key: unique(), max_cost: "1", concurrency: "5", callback_url: "", reference: "" };
  const path = (await owner.ask("/console/batches", fields)).headers.get("location")!;
  const [batch] = path.split("/").slice(-1);
  expect(await owner.read("/console/batches")).toContain(batch);
  expect(await member.read("/console/batches")).not.toContain(batch);
  expect(await owner.read("/console/files")).toContain(file);
  expect(await member.read("/console/files")).not.toContain(file);
  for (const place of [path, `${path}/lines`, `${path}/failed`, `/console/files/${file}/content`, review.headers.get("location")!])
    expect([place, (await member.ask(place)).status]).toEqual([place, 404]);
  expect((await member.ask(`${path}/cancel`, {})).status).not.toBe(303);
});

test("a member who knows the id of another's task gets nothing of it: no file, no prompt, no repetition", async () => {
  const { browser: owner, id: accountId } = await person();
  const [member, admin, viewer] = [await join(owner, "member"), await join(owner, "admin"), await join(owner, "viewer")];
  const key = /sk-\w{49}/.exec(await (await owner.ask("/console/keys", { name: unique() })).text())?.[0] ?? "";
  await env.DB.prepare("UPDATE wallet SET quota = 100000000 WHERE id = ?1").bind(accountId).run();
  const prompt = unique();
  const made = await call("/v1/videos/generations", { key, body: { model: "vidA-2", prompt } });
  const { id } = made.body as { id: string };
  await finish({ id: accountId, key, keyId: "" }, id);
  for (const [path, form] of [
    [`/console/tasks/${id}`],
    [`/console/tasks/${id}/view`],
    [`/console/tasks/${id}/download`],
    ["/console/tasks/download", { task: id }],
    [`/console/playground?from=${id}`],
    [`/console/playground?run=${id}`],
    [`/console/tasks/${id}/again`, { key: unique() }],
    [`/console/tasks/${id}/remix`, { key: unique(), choice: "vidA-2/10", prompt: "x" }],
    [`/console/tasks/${id}/thumbnail`, {}],
  ] as const) {
    const answer = await member.ask(path, form);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(await answer.text()).not.toContain(prompt);
  }
  for (const browser of [owner, admin, viewer]) expect((await browser.ask(`/console/tasks/${id}/download`)).status).toBe(200);
  expect((await admin.ask(`/console/tasks/${id}/again`, { key: unique() })).status).toBe(303);
});

test("a viewer's requests through the console change nothing", async () => {
  const viewer = await join((await person()).browser, "viewer");
  for (const { method, path } of routes.filter((route) => !/account|leave|switch/.test(route.path))) {
    const line = table.find(([way, pattern]) => way === method && pattern.test(path.replace(/(?<=.)\/$/, "")))!;
    const answer = await viewer.ask(path.replace(/:\w+/g, "x"), method === "POST" ? {} : undefined);
    expect([`${method} ${path}`, answer.status === 403]).toEqual([`${method} ${path}`, !line[2].includes("V")]);
  }
});
