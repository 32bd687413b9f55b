/** `/v1/tokens`: client tokens, what they may do, and attempts to misuse them. Contract 11. */

import { env, exports } from "cloudflare:workers";
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { rotateKey } from "../../../src/db/api-keys.ts";
import { byTest } from "../../support/actor.ts";
import { Objects } from "../../../src/rpc/objects.ts";
import { newClientToken, sha256Hex, toTokenObjectId } from "../../../src/base/ids.ts";
import { TokenObject } from "../../../src/tasks/object/token-object.ts";
import { crashBoth, failOnce, nextTaskId, stopAt } from "../../support/faults.ts";
import {
  type Account,
  asAdmin,
  readBalance,
  call,
  deliver,
  finish,
  holdTime,
  newAccount,
  pass,
  script,
  submit,
  unique,
  image,
  newTask,
} from "../../support/gateway.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const price = 0.03;
const page = "https://shop.example";

async function newToken({ key }: Account, more: object = {}): Promise<string> {
  const { status, body } = await call("/v1/tokens", { key, body: { tasks: 2, max_cost: 1, expires_in: 600, ...more } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.token as string;
}

const send = (token: string, body: object = image(), headers: Record<string, string> = { origin: page }, path = images) =>
  call(path, { key: token, body, headers });
const readError = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, body.error.code];
const tokenObject = (token: string) => env.TOKENS.get(toTokenObjectId(env.TOKENS, token)!);

test("a page submits, awaits, follows and downloads a task, and the key is charged", async () => {
  const account = await newAccount();
  const { headers, body } = await call("/v1/tokens", { key: account.key, body: { tasks: 2, max_cost: 0.5, expires_in: 60 } });
  expect(body).toEqual({ token: expect.stringMatching(/^st-[\w-]{71}$/), expires_at: Math.floor(Date.now() / 1000) + 60 });
  expect(headers.get("cache-control")).toBe("no-store");
  expect(headers.get("access-control-allow-origin")).toBeNull();
  const { token } = body;

  const made = await send(token);
  expect(made.status).toBe(200);
  expect(made.headers.get("access-control-allow-origin")).toBe("*");
  expect(made.headers.get("access-control-expose-headers")).toContain("location");
  const { id } = made.body;
  for (const [path, status] of [
    [`/v1/tasks/${id}`, 200],
    [`/v1/videos/generations/${id}`, 404],
  ] as const) {
    const answer = await call(path, { key: token });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  }
  expect((await finish({ ...account, key: token }, id)).body.data.status).toBe("completed");
  const { headers: again, body: task } = await call(`/v1/tasks/${id}?wait=60`, { key: token });
  expect(again.get("access-control-allow-origin")).toBe("*");
  expect((await call(`/v1/tasks/${id}`, { key: token, headers: { "if-none-match": again.get("etag")! } })).status).toBe(304);
  const events = await exports.default.fetch(`https://gateway.example/v1/tasks/${id}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(events.headers.get("access-control-allow-origin")).toBe("*");
  expect(await events.text()).toContain("event: task");
  expect((await call(task.data.result.images[0].url[0])).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ used: price, reserved: 0 });
  expect((await call("/v1/tasks", { key: account.key })).body.data).toHaveLength(1);
});

test("a token may cancel the tasks that it submitted, once", async () => {
  const token = await newToken(await newAccount());
  const { id } = (await send(token)).body;
  const cancelled = await call(`/v1/tasks/${id}/cancel`, { key: token, method: "POST" });
  expect(cancelled.body.data.status).toBe("failed");
  expect(cancelled.headers.get("access-control-allow-origin")).toBe("*");
  expect(readError(await call(`/v1/tasks/${id}/cancel`, { key: token, method: "POST" }))).toEqual([409, "task_already_final"]);
});

test.each<[string, object, string]>([
  ["no task", { tasks: 0 }, "tasks"],
  ["too many", { tasks: 21 }, "tasks"],
  ["half a task", { tasks: 1.5 }, "tasks"],
  ["no number", { tasks: "2" }, "tasks"],
  ["no limit of cost", { max_cost: null }, "max_cost"],
  ["a negative cost", { max_cost: -1 }, "max_cost"],
  ["too short", { expires_in: 59 }, "expires_in"],
  ["too long", { expires_in: 3601 }, "expires_in"],
  ["chat", { kinds: ["chat"] }, "kinds[0]"],
  ["no kind", { kinds: [] }, "kinds"],
  ["a text model", { models: ["imgA-4", "textA-1"] }, "models[1]"],
  ["a path", { origin: "https://shop.example/" }, "origin"],
  ["any origin", { origin: "*" }, "origin"],
  ["another scheme", { origin: "file://" }, "origin"],
])("a token that allows %s is refused", async (_, more, param) => {
  const { key } = await newAccount();
  const { status, body } = await call("/v1/tokens", { key, body: { tasks: 1, max_cost: 1, expires_in: 60, ...more } });
  expect([status, body.error.param]).toEqual([400, param]);
});

test("a token is limited to the number of tasks, kinds and models that it was created for", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 3, kinds: ["image", "remix"], models: ["imgA-4", "imgC-alias-pro"] });
  const outside = async (answer: ReturnType<typeof call>) => {
    const { status, body } = await answer;
    return [status, body.error.code, body.error.param, body.error.details[0].allowed];
  };
  const models = ["imgA-4", "imgC-3-pro-image-preview"];
  expect(await outside(send(token, image({ model: "imgB-4o-image" })))).toEqual([403, "key_scope", "model", models]);
  expect(await outside(send(token, image({ model: "vidA-2" }), {}, videos))).toEqual([403, "key_scope", "kind", ["image", "remix"]]);
  expect((await send(token, image({ model: "imgC-alias-pro" }))).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.12 });
});

test("a shared or replayed token submits no more than its maximum number of tasks, also in parallel", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 3 });
  const answers = await Promise.all(Array.from({ length: 9 }, (_, at) => send(token, image(), { origin: `https://${at}.example` })));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
  const refused = answers.filter(({ status }) => status === 403);
  expect(refused).toHaveLength(6);
  expect(new Set(refused.map(({ body }) => body.error.code))).toEqual(new Set(["token_exhausted"]));
  expect(refused[0]!.headers.get("access-control-allow-origin")).toBe("*");
  expect(await readBalance(account)).toMatchObject({ reserved: 0.09 });
});

test("a raised price does not raise a token's maximum total cost", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 20, max_cost: 0.1 });
  expect((await send(token, image({ n: 2 }))).status).toBe(200);
  expect(readError(await send(token, image({ n: 2, max_cost: 100 })))).toEqual([403, "token_exhausted"]);
  const vars = { PRICES: { "imgA-4": { image: 41_000 } } };
  expect((await call(images, { key: token, body: image(), vars })).body.error.code).toBe("token_exhausted");
  expect((await send(token)).status).toBe(200);
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0.09 });
});

test.each<[string, object, number]>([
  ["cancelled", {}, 0],
  ["failed", { polls: [{ failed: "provider_error" }] }, 0],
  ["completed with fewer images than asked for", { images: 1 }, price],
])("what a task did not cost comes back to its token, the number of tasks does not: %s", async (how, steps, charged) => {
  const account = await newAccount();
  const token = await newToken(account, { max_cost: 3 * price });
  const prompt = unique();
  await script({ match: prompt, ...steps });
  const { id } = (await send(token, image({ n: 3, prompt }))).body;
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
  // The token does not answer once: the settlement is repeated.
  failOnce(methods, "take");
  if (how === "cancelled") await call(`/v1/tasks/${id}/cancel`, { key: token, method: "POST" });
  else await finish(account, id);
  await pass(id, 40);
  expect((await call(`/v1/tasks/${id}`, { key: token })).body.data.cost).toMatchObject({ charged });
  expect((await tokenObject(token).open(await sha256Hex(token)))!.left).toEqual({
    tasks: 1,
    price: Math.round((3 * price - charged) * 1e6),
  });
  expect((await send(token, image({ n: charged === 0 ? 3 : 2 }))).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ used: charged, reserved: expect.closeTo(3 * price - charged, 9) });
});

test("a maximum total cost between two millionths allows no more than it says, and an inexact product no less", async () => {
  const account = await newAccount();
  const below = await newToken(account, { max_cost: 0.0299999 });
  expect(readError(await send(below))).toEqual([403, "token_exhausted"]);
  // 1.005 times a million is 1,004,999.9999999999.
  const exact = await newToken(account, { max_cost: 1.005 });
  const vars = { PRICES: { "imgA-4": { image: 1_005_000 } } };
  expect((await call(images, { key: exact, body: image(), vars })).status).toBe(200);
});

test("a refused submission does not count against the token", async () => {
  const account = await newAccount(0.05);
  const token = await newToken(account, { tasks: 1 });
  expect((await send(token, image({ n: 9 }))).status).toBe(400);
  expect(readError(await send(token, image({ n: 4 })))).toEqual([402, "insufficient_quota"]);
  expect(readError(await send(token, image({ max_cost: 0.001 })))).toEqual([400, "cost_limit_exceeded"]);
  expect((await send(token)).status).toBe(200);
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
});

test("a submission above the key's budget does not count against the token", async () => {
  const account = await newAccount();
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 50_000, window: "day" });
  const token = await newToken(account, { tasks: 1 });
  expect(readError(await send(token, image({ n: 2 })))).toEqual([402, "budget_exceeded"]);
  expect((await send(token)).status).toBe(200);
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
});

test("only pages of the token's origin may use it, and only they may read the answers", async () => {
  const account = await newAccount();
  const token = await newToken(account, { origin: page });
  for (const origin of ["https://evil.example", "http://shop.example", "https://shop.example.evil.example", "null"]) {
    const answer = await send(token, image(), { origin });
    expect(readError(answer)).toEqual([403, "key_scope"]);
    expect(answer.headers.get("access-control-allow-origin")).toBe(page);
  }
  // As from a terminal.
  const terminal = await send(token, image(), {});
  expect(terminal.body.error).toMatchObject({ code: "key_scope", message: `origin: must be ${page}` });
  const { status, headers, body } = await send(token);
  expect(status).toBe(200);
  expect(headers.get("access-control-allow-origin")).toBe(page);
  expect(headers.get("vary")).toContain("Origin");
  expect((await call(`/v1/tasks/${body.id}`, { key: token })).status).toBe(403);
  expect((await call(`/v1/tasks/${body.id}`, { key: token, headers: { origin: page } })).status).toBe(200);
});

test("pages of the token's origin alone may use it on OpenAI's paths", async () => {
  const account = await newAccount();
  const token = await newToken(account, { origin: page });
  const path = "/openai/v1/images/generations?dry_run=true";
  const body = { model: "imgA-4", prompt: "a cat" };
  const own = await send(token, body, { origin: page }, path);
  expect([own.status, own.headers.get("access-control-allow-origin")]).toEqual([200, page]);
  for (const headers of [{ origin: "https://evil.example" }, {}]) {
    const other = await send(token, body, headers, path);
    expect([...readError(other), other.headers.get("access-control-allow-origin")]).toEqual([403, "key_scope", page]);
  }
});

test("a token reads only its own tasks: not those of its account, of another token, of another account", async () => {
  const account = await newAccount();
  const stranger = await newAccount();
  const [token, other] = [await newToken(account), await newToken(account)];
  const ids = [await submit(account, images, image()), (await send(other)).body.id, await submit(stranger, images, image())];
  for (const id of ids)
    for (const [path, method] of [
      [`/v1/tasks/${id}`, "GET"],
      [`/v1/tasks/${id}/events`, "GET"],
      [`/v1/tasks/${id}/cancel`, "POST"],
    ] as const)
      expect(readError(await call(path, { key: token, method })), path).toEqual([404, "task_not_found"]);
  const video = await submit(account, videos, { model: "vidA-2", prompt: unique() });
  expect((await finish(account, video)).body.data.status).toBe("completed");
  const character = { model: "vidA-2", from_task: video, timestamps: "0,2" };
  expect(readError(await send(token, image({ model: "vidA-2" }), {}, `/v1/videos/${video}/remix`))).toEqual([404, "task_not_found"]);
  expect(readError(await send(token, character, {}, videos))).toEqual([404, "task_not_found"]);
});

test("a token is refused on all other paths", async () => {
  const account = await newAccount();
  const token = await newToken(account);
  const { id } = (await send(token)).body;
  const chat = { model: "textA-1", messages: [{ role: "user", content: "hello" }] };
  for (const [method, path, body] of [
    ["POST", "/v1/chat/completions", chat],
    ["POST", "/v1/chat/completions?dry_run=true", chat],
    ["POST", "/v1/tokens", { tasks: 20, max_cost: 100, expires_in: 3600 }],
    ["GET", "/v1/tasks"],
    ["DELETE", `/v1/tasks/${id}`],
    ["GET", `/v1/tasks/${id}/receipt`],
    ["GET", `/v1/tasks/${id}/callback`],
    ["POST", `/v1/tasks/${id}/callback`],
    ["GET", "/v1/models"],
    ["GET", "/v1/models/imgA-4"],
    ["GET", "/v1/key"],
    ["GET", "/v1/usage"],
    ["GET", "/v1/events"],
    ["GET", "/v1/characters"],
    ["DELETE", "/v1/characters/ch_1"],
    ["GET", "/v1/webhook"],
    ["PUT", "/v1/webhook", { url: "https://evil.example/" }],
    ["POST", "/v1/webhook/test"],
    ["GET", "/v1/webhook_secret"],
    ["POST", "/v1/webhook_secret"],
  ] as const) {
    const answer = await call(path, { key: token, method, ...(body && { body }) });
    expect(readError(answer), path).toEqual([403, "key_scope"]);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  }
  // A page of another origin is refused before that.
  const bound = await newToken(account, { origin: "https://shop.example" });
  for (const path of ["/v1/balance", "/balance", "/v1/user/balance", "/user/balance"])
    for (const key of [token, bound]) {
      const { status, body } = await call(path, { key });
      expect([status, body]).toEqual([403, { success: false, message: "A client token may not read balances" }]);
    }
  expect((await call("/admin/accounts", { key: token })).status).toBe(401);
});

test("mistyped, forged and expired tokens are refused, and start no object", async () => {
  const account = await newAccount();
  const token = await newToken(account, { expires_in: 60 });
  const { id } = (await send(token)).body;
  const mistyped = `${token.slice(0, 50)}${token[50] === "a" ? "b" : "a"}${token.slice(51)}`;
  const unknown = { status: 401, body: { success: false, message: "Failed to get token info" } };
  for (const wrong of [mistyped, "st-", `st-${"A".repeat(71)}`, token.slice(0, -1)]) {
    expect(readError(await send(wrong)), wrong).toEqual([401, "unauthorized"]);
    expect(await call("/v1/balance", { key: wrong }), wrong).toMatchObject(unknown);
  }
  // Another token for the same object, with a valid checksum.
  expect(readError(await send(newClientToken(toTokenObjectId(env.TOKENS, token)!)))).toEqual([401, "unauthorized"]);
  vi.setSystemTime(Date.now() + 59_000);
  expect((await call(`/v1/tasks/${id}`, { key: token })).status).toBe(200);
  vi.setSystemTime(Date.now() + 1_000);
  const expired = await call(`/v1/tasks/${id}`, { key: token });
  expect(readError(expired)).toEqual([401, "unauthorized"]);
  expect(expired.headers.get("access-control-allow-origin")).toBe("*");
  expect(readError(await send(token))).toEqual([401, "unauthorized"]);
  expect(await call("/v1/balance", { key: token })).toMatchObject(unknown);
  await runDurableObjectAlarm(tokenObject(token));
  const left = await runInDurableObject(tokenObject(token), async (_, { storage }) => [
    ...storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    await storage.getAlarm(),
  ]);
  expect(left).toEqual([null]);
  // The task continues after the token has expired.
  expect((await finish(account, id)).body.data.status).toBe("completed");
});

test("a token becomes invalid when its key is deleted or replaced, or its account is disabled", async () => {
  const account = await newAccount();
  const [first, second] = [await newToken(account), await newToken(await newAccount())];
  expect((await send(first)).status).toBe(200);
  expect((await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" })).status).toBe(204);
  expect(readError(await send(first))).toEqual([401, "unauthorized"]);
  expect((await send(second)).status).toBe(200);

  const other = await newAccount();
  const replaced = await newToken(other);
  await rotateKey(env.DB, new Objects(env), byTest, { accountId: other.id, id: other.keyId }, 60_000);
  expect((await send(replaced)).status).toBe(200);
  vi.setSystemTime(Date.now() + 60_000);
  expect(readError(await send(replaced))).toEqual([401, "unauthorized"]);

  const disabled = await newAccount();
  const last = await newToken(disabled);
  const { id } = (await send(last)).body;
  await asAdmin(`/accounts/${disabled.id}`, { method: "PATCH", body: { disabled: true } });
  expect(readError(await send(last))).toEqual([401, "unauthorized"]);
  expect(readError(await call(`/v1/tasks/${id}`, { key: last }))).toEqual([401, "unauthorized"]);
});

test("an Idempotency-Key of the token's account, or of another token, finds no task", async () => {
  const account = await newAccount();
  const [token, other] = [await newToken(account, { tasks: 1 }), await newToken(account)];
  const body = image();
  const headers = { "idempotency-key": "order-7" };
  const own = await submit(account, images, body, headers);
  const [first, second] = [await send(token, body, headers), await send(other, body, headers)];
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(new Set([own, first.body.id, second.body.id]).size).toBe(3);
  // A repeat of its own submission returns the same task, also when the token is used up.
  const again = await send(token, body, headers);
  expect([again.body.id, again.headers.get("idempotent-replayed")]).toEqual([first.body.id, "true"]);
  expect(readError(await send(token, image(), headers))).toEqual([409, "idempotency_conflict"]);
});

const methods = TokenObject.prototype as unknown as Parameters<typeof failOnce>[0];

test.each([
  ["before it has counted", false],
  ["after it has counted", true],
])("%s everything crashes: no task is free of charge, and counted tasks are uncounted", async (_, isDone) => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 1 });
  const id = nextTaskId();
  const stopped = stopAt(methods, "take", isDone);
  const answer = send(token);
  await stopped();
  await crashBoth(await id, answer);
  expect((await tokenObject(token).open(await sha256Hex(token)))!.taskIds).toHaveLength(isDone ? 1 : 0);
  await pass(await id, 31);
  expect((await call(`/v1/tasks/${await id}`, { key: token })).status).toBe(404);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  expect((await send(token)).status).toBe(200);
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
});

test("if it is unknown whether the token counted the task, the task is given up and uncounted", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 1 });
  const id = nextTaskId();
  failOnce(methods, "take", true);
  failOnce(methods, "giveBack");
  expect((await send(token)).status).toBe(503);
  expect(readError(await send(token))).toEqual([403, "token_exhausted"]);
  await pass(await id, 31);
  expect((await send(token)).status).toBe(200);
  expect(await readBalance(account)).toMatchObject({ reserved: price });
});

test("a `take` that arrives after its task was given up counts nothing, and a repeated one counts once", async () => {
  const token = await newToken(await newAccount(), { tasks: 1 });
  const object = tokenObject(token);
  await object.giveBack("task_late");
  expect(await object.take("task_late", 1)).toBe(false);
  expect([await object.take("task_a", 1), await object.take("task_a", 1), await object.take("task_b", 1)]).toEqual([true, true, false]);
  await object.giveBack("task_a");
  await object.giveBack("task_a");
  expect(await object.take("task_b", 1)).toBe(true);
});

test("a browser's preflight is answered on every path of the API, without a key", async () => {
  for (const path of [
    images,
    videos,
    "/v1/tasks/task_x",
    "/v1/tasks/task_x/events",
    "/v1/tasks",
    "/v1/tokens",
    "/v1/chat/completions",
    "/v1/nothing",
    "/openai/v1/images/generations",
    "/openai/v1/nothing",
  ]) {
    const headers = {
      origin: page,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type",
    };
    const answer = await call(path, { method: "OPTIONS", headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("access-control-allow-methods")).toBe("GET, HEAD, POST");
    // OpenAI's clients send headers of their own, `X-Stainless-Lang` for one.
    for (const name of ["Authorization", "Content-Type", "Idempotency-Key", ", *"])
      expect(answer.headers.get("access-control-allow-headers")).toContain(name);
    expect(answer.headers.get("x-request-id")).toBeTruthy();
  }
});

test("a page can read that its token was sent to a path or with a method that does not exist", async () => {
  const token = await newToken(await newAccount());
  for (const [path, method, status] of [
    ["/v1/nothing", "GET", 404],
    ["/v1//tasks", "GET", 404],
    ["/v1/models", "POST", 405],
    [images, "GET", 405],
  ] as const) {
    const answer = await call(path, { key: token, method, headers: { origin: page } });
    expect([path, answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([path, status, "*"]);
  }
});

test("API keys must not be used in pages: their answers have no CORS headers", async () => {
  const { account, id } = await newTask();
  await deliver(id);
  for (const [path, body] of [
    [images, image()],
    [`/v1/tasks/${id}`],
    ["/v1/tasks"],
    ["/v1/models"],
    [`/v1/tasks/${id}/receipt`],
    ["/v1/nothing"],
  ] as const) {
    const { headers } = await call(path, { key: account.key, headers: { origin: page }, ...(body && { body }) });
    expect(
      [...headers.keys()].filter((name) => name.startsWith("access-control-")),
      path,
    ).toEqual([]);
  }
  expect((await call(images, { body: image(), headers: { origin: page } })).headers.get("access-control-allow-origin")).toBeNull();
});
