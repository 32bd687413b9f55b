/** Keys limited to models, kinds and a number of open tasks; `GET /v1/key`. Contract 4. */

import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { type Account, asAdmin, call, finish, holdTime, newAccount, settledBalance, submit, unique, image } from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const chat = (model = "textA-1") => ({ model, messages: [{ role: "user", content: unique() }] });

/** A further key of the account with this scope. */
async function newKey(account: Account, scope: object, quota: number | null = null): Promise<Account> {
  const { status, body } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "narrow", quota, ...scope } });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: account.id, key: body.key, keyId: body.id };
}

const send = (path: string, { key }: Account, body: object) => call(path, { key, body });

async function outside(answer: ReturnType<typeof call>) {
  const { status, body } = await answer;
  return [status, body.error.code, body.error.param, body.error.details?.[0].allowed];
}

test("a request outside the key's models and kinds is 403 with the field and the allowed values, and reserves nothing", async () => {
  const account = await newAccount();
  const narrow = await newKey(account, { models: ["imgA-4", "imgC-alias-pro", "textA-1"], kinds: ["image"] });
  const models = ["imgA-4", "imgC-3-pro-image-preview", "textA-1"];
  expect(await outside(send(images, narrow, image({ model: "imgB-4o-image" })))).toEqual([403, "key_scope", "model", models]);
  expect(await outside(send(`${images}?dry_run=true`, narrow, image({ model: "imgB-4o-image" })))).toEqual([
    403,
    "key_scope",
    "model",
    models,
  ]);
  expect(await outside(send(videos, narrow, image({ model: "vidA-2" })))).toEqual([403, "key_scope", "kind", ["image"]]);
  expect(await outside(send("/v1/chat/completions", narrow, chat()))).toEqual([403, "key_scope", "kind", ["image"]]);
  const talker = await newKey(account, { kinds: ["chat"], models: ["textA-1-mini"] });
  expect(await outside(send("/v1/chat/completions", talker, chat()))).toEqual([403, "key_scope", "model", ["textA-1-mini"]]);
  expect((await send("/v1/chat/completions", talker, chat("textA-1-mini"))).status).toBe(200);
  expect((await send(images, narrow, image())).status).toBe(200);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0.03 });
  // An invalid body is reported before the scope.
  expect((await send(images, narrow, { model: "imgB-4o-image" })).status).toBe(400);
});

test("a client token is limited by its key's scope as well as by its own, also if the key's scope is set later", async () => {
  const account = await newAccount();
  const narrow = await newKey(account, { models: ["imgA-4", "vidA-2"] });
  const { token } = (await call("/v1/tokens", { key: narrow.key, body: { tasks: 9, max_cost: 9, expires_in: 60, kinds: ["image"] } })).body;
  const by = { ...narrow, key: token as string };
  expect(await outside(send(images, by, image({ model: "imgB-4o-image" })))).toEqual([403, "key_scope", "model", ["imgA-4", "vidA-2"]]);
  expect(await outside(send(videos, by, image({ model: "vidA-2" })))).toEqual([403, "key_scope", "kind", ["image"]]);
  expect((await send(images, by, image())).status).toBe(200);
  await asAdmin(`/keys/${narrow.keyId}`, { method: "PATCH", body: { models: ["vidA-2"] } });
  expect((await send(images, by, image())).status).toBe(403);
});

test("a key has a maximum of open tasks, beside other tasks of its account; chats do not count", async () => {
  const account = await newAccount();
  const narrow = await newKey(account, { max_open_tasks: 2 });
  const answers = await Promise.all(Array.from({ length: 6 }, () => send(images, narrow, image())));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  const refused = answers.find(({ status }) => status !== 200)!;
  expect([refused.status, refused.body.error.code]).toEqual([429, "too_many_open_tasks"]);
  expect(refused.headers.get("retry-after")).toBe("5");
  expect((await send(`${images}?dry_run=true`, narrow, image())).body.error.code).toBe("too_many_open_tasks");
  expect((await call("/v1/key", { key: narrow.key })).body).toMatchObject({ max_open_tasks: 2, open_tasks: 2 });
  expect((await send("/v1/chat/completions", narrow, chat())).status).toBe(200);
  expect((await send(images, account, image())).status).toBe(200);
  const id = answers.find(({ status }) => status === 200)!.body.id;
  await finish(narrow, id);
  expect((await send(images, narrow, image())).status).toBe(200);
});

test("GET /v1/key shows the calling key, its limits and the remaining amounts", async () => {
  const account = await newAccount(100);
  const narrow = await newKey(account, { models: ["imgA-4"], expires_at: 9_999_999_999 }, 1);
  await submit(narrow, images, image());
  const { status, body } = await call("/v1/key", { key: narrow.key });
  expect(status).toBe(200);
  expect(body).toEqual({
    id: narrow.keyId,
    object: "key",
    name: "narrow",
    prefix: narrow.key.slice(0, 10),
    created_at: expect.any(Number),
    expires_at: 9_999_999_999,
    quota: 1,
    used: 0,
    reserved: 0.03,
    remaining: 0.97,
    models: ["imgA-4"],
    kinds: null,
    max_open_tasks: null,
    budget: null,
    open_tasks: 1,
    paused_at: null,
  });
  expect((await call("/v1/key", { key: account.key })).body).toMatchObject({
    id: account.keyId,
    name: "test",
    quota: null,
    remaining: null,
    models: null,
  });
  expect((await call("/v1/key")).status).toBe(401);
  expect((await call("/v1/key", { key: account.key, method: "POST" })).headers.get("allow")).toBe("GET, HEAD");
});

test("GET /v1/key shows the key's budget, the amount spent of it and the end of its window", async () => {
  const account = await newAccount(100);
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 50_000, window: "day" });
  await submit(account, images, image());
  const { budget } = (await call("/v1/key", { key: account.key })).body;
  const tomorrow = 86_400 * (Math.floor(Date.now() / 86_400_000) + 1);
  expect(budget).toEqual({ amount: 0.05, window: "day", spent: 0.03, remaining: 0.02, ends_at: tomorrow });
  expect((await send(images, account, image())).body.error.code).toBe("budget_exceeded");
});

test("the operator changes a key: missing fields stay unchanged, null removes a limit", async () => {
  const account = await newAccount();
  const narrow = await newKey(account, { models: ["imgA-4"], kinds: ["image"], max_open_tasks: 1 }, 5);
  const patch = async (body: object) => (await asAdmin(`/keys/${narrow.keyId}`, { method: "PATCH", body })).body;
  expect(await patch({ name: "other", kinds: ["image", "chat"] })).toMatchObject({
    id: narrow.keyId,
    name: "other",
    quota: 5,
    models: ["imgA-4"],
    kinds: ["image", "chat"],
    max_open_tasks: 1,
  });
  expect(await patch({ models: null, quota: null, max_open_tasks: null })).toMatchObject({
    name: "other",
    quota: null,
    models: null,
    max_open_tasks: null,
  });
  expect((await send(images, narrow, image({ model: "imgB-4o-image" }))).status).toBe(200);
  const listed = (await asAdmin(`/accounts/${account.id}/keys`)).body.data.find(({ id }: { id: string }) => id === narrow.keyId);
  expect(listed).toMatchObject({ name: "other", kinds: ["image", "chat"] });
  expect((await asAdmin(`/keys/${narrow.keyId}`, { method: "PATCH", body: { quota: 0 } })).body.error).toMatchObject({ param: "quota" });
  expect((await asAdmin("/keys/key_none", { method: "PATCH", body: {} })).status).toBe(404);
});

test.each<[object, string]>([
  [{ models: [] }, "models"],
  [{ models: ["imgA-4", "imgZ"] }, "models[1]"],
  [{ models: "imgA-4" }, "models"],
  [{ kinds: ["film"] }, "kinds[0]"],
  [{ max_open_tasks: 0 }, "max_open_tasks"],
  [{ max_open_tasks: 1.5 }, "max_open_tasks"],
])("a scope of %j is refused, when a key is created and when it is changed", async (scope, param) => {
  const account = await newAccount();
  for (const answer of [
    await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "x", quota: null, ...scope } }),
    await asAdmin(`/keys/${account.keyId}`, { method: "PATCH", body: scope }),
  ])
    expect([answer.status, answer.body.error.param]).toEqual([400, param]);
});
