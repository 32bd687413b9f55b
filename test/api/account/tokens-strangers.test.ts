/** Client tokens in strangers' hands: what they cannot use up, name, set or learn. Contract 11. */

import { listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { insertCharacter } from "../../../src/db/characters.ts";
import { newId, sha256Hex, toTokenObjectId } from "../../../src/base/ids.ts";
import type { RequestEntry, RequestPage } from "../../../src/db/request-pages.ts";
import { png } from "../../media/images.ts";
import { bindings } from "../../support/faults.ts";
import {
  type Account,
  type Answer,
  asAdmin,
  call,
  finish,
  holdTime,
  newAccount,
  readBalance,
  submit,
  image,
} from "../../support/gateway.ts";
import { callBack, ok, receivers } from "../../support/receiver.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const video = (prompt: string) => ({ model: "vidA-2", prompt });
const bad = { model: "imgA-4" };
const readError = ({ status, body }: Answer) => [status, body.error.code, body.error.param];

async function newToken({ key }: Account, more: object = {}): Promise<string> {
  const { status, body } = await call("/v1/tokens", { key, body: { tasks: 5, max_cost: 5, expires_in: 3600, ...more } });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.token as string;
}

const send = (token: string, body: object = image(), path = images, headers: Record<string, string> = {}) =>
  call(path, { key: token, body, headers });
const left = async (token: string) => (await env.TOKENS.get(toTokenObjectId(env.TOKENS, token)!).open(await sha256Hex(token)))!.left;

/** A character of the account, whose only other fields are needed by the database. */
async function newCharacter({ id: accountId }: Account, username: string): Promise<string> {
  const id = newId("ch_");
  const picture = { pictureType: "image/png", pictureDigest: "digest" };
  const route = { model: "vidA-2", provider: "sandbox", handle: null };
  vi.setSystemTime(Date.now() + 1);
  await insertCharacter(env.DB, { id, accountId, username, displayName: username, ...route, ...picture, createdAt: Date.now() });
  return id;
}

/** The minute of the real clock, which the local limiter uses: files of the same runtime before this one may have replaced `Date`. */
const currentMinute = () => Math.floor((performance.timeOrigin + performance.now()) / 60_000);

/** Repeats until the whole run fits into one minute. */
async function inOneMinute<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = currentMinute();
    const result = await run();
    if (minute === currentMinute()) return result;
  }
}

const limited = { RATE_LIMITS: "on" };

test(
  "a token makes 10 submissions a minute; those of a stranger stop neither its key, nor another token, nor a chat",
  { timeout: 60_000 },
  async () => {
    const sent = await inOneMinute(async () => {
      const account = await newAccount();
      const [token, other] = [await newToken(account), await newToken(account)];
      const flood = await Promise.all(Array.from({ length: 70 }, () => call(images, { key: token, body: bad, vars: limited })));
      const messages = [{ role: "user", content: "hello" }];
      const others = await Promise.all([
        ...Array.from({ length: 58 }, () => call(images, { key: account.key, body: bad, vars: limited })),
        call(images, { key: other, body: image(), vars: limited }),
        call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages }, vars: limited }),
        call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 60 }, vars: limited }),
      ]);
      return { flood, others };
    });
    expect(sent.flood.filter(({ status }) => status === 429)).toHaveLength(60);
    const refused = sent.flood.find(({ status }) => status === 429)!;
    expect(refused.headers.get("x-ratelimit-limit-requests")).toBe("10");
    expect(refused.headers.get("access-control-allow-origin")).toBe("*");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(sent.others.map(({ status }) => status)).toEqual([...Array.from({ length: 58 }, () => 400), 200, 200, 201]);
  },
);

test("a token makes 120 reads a minute, also on paths that refuse it; its key's reads do not count them", { timeout: 60_000 }, async () => {
  const { flood, next, own } = await inOneMinute(async () => {
    const account = await newAccount();
    const token = await newToken(account);
    const paths = ["/v1/tasks/task_x", "/v1/tasks", "/v1/models", "/v1/tasks/task_x/events"];
    const read = (at: number) => call(paths[at % paths.length]!, { key: token, vars: limited });
    return {
      flood: await Promise.all(Array.from({ length: 120 }, (_, at) => read(at))),
      next: await read(0),
      own: await call("/v1/tasks", { key: account.key, vars: limited }),
    };
  });
  expect(flood.filter(({ status }) => status === 429)).toHaveLength(0);
  expect([next.status, next.headers.get("x-ratelimit-limit-requests")]).toEqual([429, "120"]);
  expect([own.status, own.headers.get("x-ratelimit-limit-requests")]).toEqual([200, "600"]);
});

test("of a token above its limit, and of one that is used up, no body at OpenAI's paths is stored, and no attempt", async () => {
  const account = await newAccount();
  const [token, used] = [await newToken(account), await newToken(account, { tasks: 1 })];
  expect((await send(used)).status).toBe(200);
  const attempts = (env as unknown as { ATTEMPTS: DurableObjectNamespace }).ATTEMPTS;
  const before = await listDurableObjectIds(attempts);
  const put = vi.spyOn(bindings.bucket(), "put");
  const full = { ...limited, TOKEN_SUBMISSIONS: { limit: async () => ({ success: false }) } };
  const large = { model: "gpt-image-1", prompt: "x", images: [`data:image/png;base64,${"A".repeat(3_000_000)}`] };
  const edits = "/openai/v1/images/edits";
  const small = { model: "gpt-image-1", prompt: "x" };
  for (const body of [large, small].map((one) => JSON.stringify(one))) {
    const headers = { "content-type": "application/json", "content-length": String(body.length) };
    expect((await call(edits, { key: token, body, headers, vars: full })).status).toBe(429);
  }
  expect(readError(await call(edits, { key: used, body: large, vars: limited }))).toEqual([403, "token_exhausted", null]);
  expect(put).not.toHaveBeenCalled();
  expect(await listDurableObjectIds(attempts)).toEqual(before);
});

test("a token's submissions that OpenAI's paths refuse by themselves are counted, and use up tasks after the third", async () => {
  const token = await newToken(await newAccount(), { tasks: 3 });
  const refused = [{ model: "gpt-image-1", size: "1x1" }, { model: 7 }, { model: "gpt-image-1", stream: true }, "no json"];
  const statuses = [];
  for (const body of refused) {
    const { status } = await call("/openai/v1/images/generations", { key: token, body, vars: limited });
    statuses.push([status, (await left(token)).tasks]);
  }
  expect(statuses).toEqual([...Array.from({ length: 3 }, () => [400, 3]), [400, 2]]);
});

test("requests of tokens count for the token and for all tokens of the account together, never for a key or the account", async () => {
  const account = await newAccount();
  const token = await newToken(account);
  const counts: [string, string][] = [];
  const limiter = (name: string): RateLimit => ({
    limit: async ({ key }) => {
      counts.push([name, key]);
      return { success: true };
    },
  });
  const names = ["SUBMISSIONS", "READS", "ACCOUNT_SUBMISSIONS", "ACCOUNT_READS", "TOKEN_SUBMISSIONS", "TOKEN_READS"];
  const vars = { ...limited, ...Object.fromEntries(names.map((name) => [name, limiter(name)])) };
  const id = toTokenObjectId(env.TOKENS, token)!.toString();
  await call(images, { key: token, body: image(), vars });
  await call("/v1/tasks/task_x", { key: token, vars });
  expect(counts).toEqual([
    ["TOKEN_SUBMISSIONS", id],
    ["ACCOUNT_SUBMISSIONS", `${account.id} tokens`],
    ["TOKEN_READS", id],
    ["ACCOUNT_READS", `${account.id} tokens`],
  ]);
});

test("three refused submissions are free; each further one uses up a task, and a used-up token is refused before its body is read", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 3 });
  const refused = [bad, image({ n: 9 }), { model: "nothing", prompt: "x" }, image({ max_cost: 0.001 })];
  for (const [at, body] of refused.entries()) {
    expect((await send(token, body)).status).toBe(400);
    expect((await left(token)).tasks).toBe(at < 3 ? 3 : 2);
  }
  const headers = { "idempotency-key": "first" };
  const first = image();
  expect((await send(token, first, images, headers)).status).toBe(200);
  expect((await send(token, {}, videos)).status).toBe(400);
  expect((await left(token)).tasks).toBe(0);
  // Not JSON: its body was not looked at.
  for (const path of [images, `${images}?dry_run=true`, "/v1/estimates"])
    expect(readError(await call(path, { key: token, body: "no json" }))).toEqual([403, "token_exhausted", null]);
  expect((await send(token, first, images, headers)).headers.get("idempotent-replayed")).toBe("true");
  expect(await readBalance(account)).toMatchObject({ reserved: 0.03 });
});

test("a dry run, and a submission refused for the account's money, its limits or a fault, use up nothing of the token", async () => {
  const account = await newAccount(0.01);
  const token = await newToken(account, { tasks: 1 });
  for (let time = 0; time < 5; time++) expect((await send(token)).status).toBe(402);
  for (let time = 0; time < 5; time++) expect((await send(token, bad, `${images}?dry_run=true`)).status).toBe(400);
  const vars = { ...limited, TOKEN_SUBMISSIONS: { limit: async () => ({ success: false }) } };
  for (let time = 0; time < 5; time++) expect((await call(images, { key: token, body: bad, vars })).status).toBe(429);
  await asAdmin(`/accounts/${account.id}`, { method: "PATCH", body: { quota: 1 } });
  expect((await send(token)).status).toBe(200);
});

test("refused submissions in parallel use up no more and no less than one after the other", async () => {
  const token = await newToken(await newAccount(), { tasks: 20 });
  await Promise.all(Array.from({ length: 10 }, () => send(token, bad)));
  expect((await left(token)).tasks).toBe(13);
});

test("a token cannot name its account's characters: names that exist have the answer of names that do not, and nothing is looked up", async () => {
  const account = await newAccount();
  await newCharacter(account, "amber.fox");
  const token = await newToken(account, { tasks: 20 });
  const prepare = vi.spyOn(bindings.database(), "prepare");
  const answers = await Promise.all(["amber.fox", "nobody.fox", "character"].map((name) => send(token, video(`@${name} runs`), videos)));
  expect(prepare.mock.calls.filter(([sql]) => String(sql).includes("FROM character"))).toEqual([]);
  const [known, unknown, newest] = answers.map(({ status, body }) => JSON.stringify([status, body]));
  expect(JSON.parse(known!)).toMatchObject([400, { error: { param: "prompt", code: "invalid_request" } }]);
  expect(known!.replaceAll("amber.fox", "X")).toBe(unknown!.replaceAll("nobody.fox", "X"));
  expect(newest!.replaceAll("@character", "X")).toBe(unknown!.replaceAll("@nobody.fox", "X"));
  expect((await call(videos, { key: account.key, body: video("@amber.fox and @character run") })).status).toBe(200);
});

test("characters that its key named may be used, by id or username; @character is the newest of them", async () => {
  const account = await newAccount();
  const [fox, hare] = [await newCharacter(account, "amber.fox"), await newCharacter(account, "grey.hare")];
  await newCharacter(account, "newest.owl");
  const token = await newToken(account, { tasks: 20, max_cost: 20, characters: [fox, "@Grey.Hare"] });
  const made = await send(token, video("@amber.fox meets @character"), videos);
  expect(made.status, JSON.stringify(made.body)).toBe(200);
  const { submission } = (await env.TASKS.get(env.TASKS.idFromString(toHex(made.body.id))).read(account.id))!;
  expect(submission.characters.map(({ id }) => id)).toEqual([fox, hare]);
  expect(readError(await send(token, video("@newest.owl"), videos))).toEqual([400, "invalid_request", "prompt"]);
  // A deleted one is unknown, also to the token.
  expect((await call(`/v1/characters/${fox}`, { key: account.key, method: "DELETE" })).status).toBe(204);
  expect(readError(await send(token, video("@amber.fox"), videos))).toEqual([400, "invalid_request", "prompt"]);
});

const toHex = (taskId: string) => Uint8Array.fromBase64(taskId.slice(5), { alphabet: "base64url" }).toHex();

test("a key can give a token only characters of its own account, and only a public https address", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  const foreign = await newCharacter(stranger, "amber.fox");
  const ask = (more: object, vars?: Partial<Env>) =>
    call("/v1/tokens", { key: account.key, body: { tasks: 1, max_cost: 1, expires_in: 60, ...more }, ...(vars && { vars }) });
  for (const characters of [[foreign], ["amber.fox"], ["ch_x"]])
    expect(readError(await ask({ characters }))).toEqual([400, "invalid_request", "characters[0]"]);
  expect(readError(await ask({ characters: Array.from({ length: 21 }, () => "a") }))).toEqual([400, "invalid_request", "characters"]);
  expect(readError(await ask({ callback_url: "https://127.0.0.1/" }, { ALLOW_PRIVATE_NETWORK: "off" }))).toEqual([
    400,
    "invalid_request",
    "callback_url",
  ]);
  expect(readError(await ask({ reference: "" }))).toEqual([400, "invalid_request", "reference"]);
});

test("a token can set neither callback_url nor reference, on OpenAI's paths neither X-Client-Request-Id; null is absent", async () => {
  const account = await newAccount();
  const token = await newToken(account, { tasks: 20 });
  for (const [param, value] of [
    ["callback_url", "https://evil.example/"],
    ["reference", "another customer"],
  ] as const) {
    const answer = await send(token, image({ [param]: value }));
    expect(readError(answer)).toEqual([403, "key_scope", param]);
    expect(answer.body.error.message).toBe(`${param}: may only be set by the key that created the client token`);
    expect(readError(await send(token, image({ [param]: value }), `${images}?dry_run=true`))).toEqual([403, "key_scope", param]);
  }
  expect((await send(token, image({ callback_url: null, reference: null }))).status).toBe(200);
  const openAi = (headers: Record<string, string>, fields = {}) =>
    call("/openai/v1/images/generations?dry_run=true", { key: token, body: { model: "imgA-4", prompt: "a cat", ...fields }, headers });
  expect(readError(await openAi({ "x-client-request-id": "another customer" }))).toEqual([403, "key_scope", "X-Client-Request-Id"]);
  expect(readError(await openAi({}, { reference: "another customer" }))).toEqual([403, "key_scope", "reference"]);
  expect((await openAi({})).status).toBe(200);
});

test("what its key fixed applies to the token's tasks: the callback goes there, and the reference is in the books", async () => {
  const account = await newAccount();
  const hook = "https://shop.example/hook";
  const received = receivers({ [hook]: ok });
  const token = await newToken(account, { callback_url: hook, reference: "customer 7" });
  const { id, metadata } = (await send(token)).body;
  expect((await finish(account, id)).body.data).toMatchObject({ status: "completed", reference: "customer 7" });
  expect((await call("/v1/tasks?reference=customer%207", { key: account.key })).body.data).toMatchObject([{ id }]);
  expect(metadata.reference).toBe("customer 7");
  await callBack(id);
  expect(received.map(({ url }) => url)).toEqual([hook]);
});

test("a dry run with a token shows at most what is left of the token, never the account's balance", async () => {
  const account = await newAccount(100);
  const token = await newToken(account, { tasks: 2, max_cost: 0.1 });
  const dry = (body: object) => send(token, body, `${images}?dry_run=true`);
  expect((await dry(image())).body).toMatchObject({ object: "generation.dry_run", price: 0.03, remaining_after: 0.07 });
  expect(readError(await dry(image({ n: 4 })))).toEqual([403, "token_exhausted", null]);
  await send(token);
  expect((await dry(image())).body.remaining_after).toBe(0.04);
  await send(token);
  expect(readError(await dry(image()))).toEqual([403, "token_exhausted", null]);
  // Nor does it when the account has less.
  const poor = await newToken(await newAccount(0.05), { max_cost: 3 });
  expect((await send(poor, image(), `${images}?dry_run=true`)).body.remaining_after).toBe(2.97);
  expect(readError(await send(poor, image({ n: 2 }), `${images}?dry_run=true`))).toEqual([402, "insufficient_quota", null]);
  const unlimited = await newToken(await newAccount(null));
  expect((await send(unlimited, image(), `${images}?dry_run=true`)).body.remaining_after).toBe(4.97);
});

test("an error about a token's scope lists what the token may use, not what its key may", async () => {
  const account = await newAccount();
  await asAdmin(`/keys/${account.keyId}`, {
    method: "PATCH",
    body: { models: ["imgA-4", "imgB-4o-image", "vidA-2"], kinds: ["image", "video", "chat"] },
  });
  vi.setSystemTime(Date.now() + 8_000);
  const token = await newToken(account, { models: ["imgA-4", "imgC-3-pro-image-preview"], kinds: ["image", "remix"] });
  const { body } = await send(token, image({ model: "imgC-3-pro-image-preview" }));
  expect(body.error).toMatchObject({ code: "key_scope", param: "model", details: [{ allowed: ["imgA-4"] }] });
  expect((await send(token, video("x"), videos)).body.error.details).toEqual([expect.objectContaining({ allowed: ["image"] })]);
});

test("a token neither reads nor blocks its account's idempotency keys, on OpenAI's paths either", async () => {
  const account = await newAccount();
  const token = await newToken(account);
  const headers = { "idempotency-key": "order-7" };
  expect((await send(token, image(), images, headers)).status).toBe(200);
  // The account's own submission with this key is neither a conflict nor a repeat.
  const body = image();
  const own = await submit(account, images, body, headers);
  const upload = { model: "imgA-4", prompt: body.prompt };
  const asked = await call("/openai/v1/images/generations?dry_run=true", {
    key: token,
    body: upload,
    headers: { "idempotency-key": "order-7" },
  });
  expect([asked.status, asked.body.error.code]).toEqual([409, "idempotency_conflict"]); // with the token's own submission
  expect((await call(images, { key: account.key, body, headers })).body.id).toBe(own);
});

test("a dry run whose body needs a permit counts as a submission, a smaller one as a read", async () => {
  const account = await newAccount();
  const counts: string[] = [];
  const limiter = (name: string): RateLimit => ({ limit: async () => ({ success: counts.push(name) > 0 }) });
  const vars = { ...limited, SUBMISSIONS: limiter("submission"), READS: limiter("read") };
  const dry = async (path: string, body: object) => {
    counts.length = 0;
    const { status } = await call(`${path}?dry_run=true`, { key: account.key, body, vars });
    return [status, ...counts];
  };
  const inline = `data:image/png;base64,${Buffer.from(Buffer.concat([png, Buffer.alloc(100_000)])).toString("base64")}`;
  const edit = { model: "imgB-4o-image", prompt: "x" };
  expect(await dry(images, edit)).toEqual([200, "read"]);
  expect(await dry(images, { ...edit, images: [inline] })).toEqual([200, "read", "submission"]);
  const chat = (content: string) => ({ model: "textA-1", messages: [{ role: "user", content }] });
  expect(await dry("/v1/chat/completions", chat("hello"))).toEqual([200, "read"]);
  expect(await dry("/v1/chat/completions", chat("hello ".repeat(20_000)))).toEqual([200, "read", "submission"]);
  const spent = { ...limited, SUBMISSIONS: { limit: async () => ({ success: false }) } };
  expect((await call(`${images}?dry_run=true`, { key: account.key, body: { ...edit, images: [inline] }, vars: spent })).status).toBe(429);
});

test("requests of a token above its limits are not in the account's log of requests, which they could fill", async () => {
  const { key } = await newAccount();
  const token = await newToken({ key } as Account);
  vi.useFakeTimers({ toFake: ["Date", "setTimeout"] });
  const logged: RequestEntry[] = [];
  const operations = {
    logRequests: async (pages: RequestPage[]) =>
      void logged.push(...pages.flatMap(({ entries }) => entries.split("\n").map((line) => JSON.parse(line) as RequestEntry))),
  };
  const vars = { ...limited, REQUEST_LOG: "on", OPERATIONS: operations as unknown as NonNullable<Env["OPERATIONS"]> };
  const full = { limit: async () => ({ success: false }) };
  await call("/v1/tasks/task_x", { key: token, vars });
  await call("/v1/tasks/task_y", { key: token, vars: { ...vars, TOKEN_READS: full } });
  await call("/v1/tasks/task_z", { key, vars: { ...vars, READS: full } });
  await vi.advanceTimersByTimeAsync(10_000);
  holdTime();
  const own = logged.filter(({ path }) => /task_[xyz]/.test(path)).map(({ path, status }) => [path, status]);
  expect(own).toEqual([
    ["GET /v1/tasks/task_x", 404],
    ["GET /v1/tasks/task_z", 429],
  ]);
});
