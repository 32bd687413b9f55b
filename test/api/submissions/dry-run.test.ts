/** `?dry_run=true` and `/v1/estimates`: a submission's price, or its exact error, with nothing stored. Contract 1. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { png } from "../../media/images.ts";
import { bindings, spyOn } from "../../support/faults.ts";
import { type Account, call, complete, holdTime, newAccount, readBalance, submit, unique } from "../../support/gateway.ts";
import { expectNoTrace } from "../../support/refusal.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const chats = "/v1/chat/completions";
const messages = [{ role: "user", content: "Hello" }];

const dry = (account: Account, path: string, body: unknown, headers: Record<string, string> = {}) =>
  call(`${path}?dry_run=true`, { key: account.key, body, headers });

test("a dry run returns the price, the remaining balance and the parameters of the submission, and stores nothing", async () => {
  const account = await newAccount();
  const creates = vi.spyOn(TaskObject.prototype, "create");
  const rows: [string, object, string, number][] = [
    [images, { model: "imgC-alias-pro", prompt: unique(), n: 2, reference: "order 1" }, "image", 0.24],
    [videos, { model: "vidA-2", prompt: unique() }, "video", 1],
    [videos, { model: "vidA-2", url: "https://films.example/a.mp4", timestamps: "0,2" }, "character", 0.05],
  ];
  for (const [path, body, kind, price] of rows) {
    const { status, body: told } = await dry(account, path, body);
    expect(status, JSON.stringify(told)).toBe(200);
    expect(told).toMatchObject({ object: "generation.dry_run", kind, price, remaining_after: expect.closeTo(100 - price, 9) });
    expect(told.estimated_time).toBeGreaterThan(0);
  }
  expect(creates).not.toHaveBeenCalled();
  await expectNoTrace(account);
  for (const [path, body] of rows) {
    const { body: told } = await dry(account, path, body);
    const { body: made } = await call(path, { key: account.key, body });
    expect(made.metadata).toEqual(told.metadata);
    expect(made.model).toBe(told.model);
  }
});

test("a chat supports dry runs", async () => {
  const account = await newAccount();
  const { status, body } = await dry(account, chats, { model: "textA-1", messages, max_tokens: 1000 });
  expect(status).toBe(200);
  expect(body).toMatchObject({ object: "generation.dry_run", kind: "chat", model: "textA-1", metadata: { reserved: body.price } });
  expect(body.price).toBeGreaterThan(0.008);
  expect(body.remaining_after).toBeCloseTo(100 - body.price, 9);
  await expectNoTrace(account);
});

test("a remix is checked with its source, and refused like a real one without it", async () => {
  const account = await newAccount();
  const source = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  const body = { model: "vidA-2", prompt: unique() };
  expect((await dry(account, `/v1/videos/${source}/remix`, body)).body).toMatchObject({
    kind: "remix",
    price: 1,
    metadata: { source_task: source },
  });
  const unknown = `/v1/videos/task_${"A".repeat(43)}/remix`;
  expect((await dry(account, unknown, body)).body).toEqual((await call(unknown, { key: account.key, body })).body);
});

test("each refusal equals the real one, 402 and the limit of open tasks included", async () => {
  const poor = await newAccount(0.01);
  const limited = await newAccount(100, 0.01);
  const prompt = unique();
  const cases: [Account, string, unknown][] = [
    [poor, images, { model: "imgA-4", prompt }],
    [limited, images, { model: "imgA-4", prompt }],
    [poor, chats, { model: "textA-1", messages, max_tokens: 100_000 }],
    [poor, images, { model: "imgA-4", prompt, n: 9, images: ["nonsense"] }],
    [poor, images, { model: "nothing", prompt }],
    [poor, images, { model: "imgA-4", prompt: "sandbox:reject" }],
    [poor, images, { model: "imgA-4", prompt, max_cost: 0.001 }],
    [poor, videos, { model: "vidA-2", prompt: "@nobody-of-this-name waves" }],
    [poor, chats, { model: "textA-1", messages: [] }],
    [poor, images, "not json"],
  ];
  for (const [account, path, body] of cases) {
    const real = await call(path, { key: account.key, body });
    const tried = await dry(account, path, body);
    expect(real.status, JSON.stringify(body)).toBeGreaterThanOrEqual(400);
    expect({ status: tried.status, body: tried.body }).toEqual({ status: real.status, body: real.body });
  }
  const busy = await newAccount();
  await submit(busy, images, { model: "imgA-4", prompt });
  const vars = { MAX_OPEN_TASKS: "1" };
  const refused = await call(`${images}?dry_run=true`, { key: busy.key, body: { model: "imgA-4", prompt }, vars });
  expect(refused).toMatchObject({ status: 429, body: { error: { code: "too_many_open_tasks" } } });
});

test("inline images, large and small, are checked and not stored", async () => {
  const account = await newAccount();
  const puts = spyOn(bindings.bucket(), "put").mockClear();
  const padded = new Uint8Array(200_000);
  padded.set(png);
  const large = `data:image/png;base64,${padded.toBase64()}`;
  const small = `data:image/png;base64,${png.toBase64()}`;
  const body = { model: "imgA-4", prompt: unique(), images: [large, small] };
  expect((await dry(account, images, body)).body).toMatchObject({ kind: "image", metadata: { images: ["inline", "inline"] } });
  const wrong = { ...body, images: [large, `data:image/png;base64,${btoa("x".repeat(90_000))}`] };
  expect(await dry(account, images, wrong)).toMatchObject({ status: 400, body: { error: { param: "images[1]" } } });
  expect(puts).not.toHaveBeenCalled();
  expect((await env.ASSETS.list({ prefix: "inputs/" })).objects).toEqual([]);
});

test("with an idempotency key a dry run makes no claim, prices a repeat at 0, and detects conflicts", async () => {
  const account = await newAccount();
  const headers = { "idempotency-key": unique() };
  const body = { model: "imgA-4", prompt: unique() };
  expect((await dry(account, images, body, headers)).body.price).toBe(0.03);
  const real = await call(images, { key: account.key, body, headers });
  expect(real.headers.get("idempotent-replayed")).toBeNull();
  expect((await dry(account, images, body, headers)).body).toMatchObject({ price: 0, remaining_after: 99.97 });
  expect(await dry(account, images, { ...body, n: 2 }, headers)).toMatchObject({ status: 409 });
});

test("a dry run counts as a read, accepts true or false, and needs a key", async () => {
  const account = await newAccount();
  const body = { model: "imgA-4", prompt: unique() };
  const vars = { SUBMISSIONS: { limit: async () => ({ success: false }) }, RATE_LIMITS: "on" } as unknown as Partial<Env>;
  expect((await call(`${images}?dry_run=true`, { key: account.key, body, vars })).status).toBe(200);
  expect((await call(`${images}?dry_run=false`, { key: account.key, body, vars })).status).toBe(429);
  expect(await call(`${images}?dry_run=maybe`, { key: account.key, body })).toMatchObject({
    status: 400,
    body: { error: { param: "dry_run", details: [{ allowed: ["true", "false"] }] } },
  });
  expect((await call(`${images}?dry_run=true`, { body })).status).toBe(401);
  await expectNoTrace(account);
});

test("without a quota remaining_after is -1", async () => {
  const account = await newAccount(null);
  expect((await dry(account, images, { model: "imgA-4", prompt: unique() })).body.remaining_after).toBe(-1);
});

test("of a budget that is used up and too small a balance, a dry run names the one that the submission names", async () => {
  const image = (n: number) => ({ model: "imgA-4", prompt: unique(), n });
  for (const [quota, keyQuota, code] of [
    [0.05, null, "budget_exceeded"],
    [100, 0.05, "insufficient_quota"],
  ] as const) {
    const account = await newAccount(quota, keyQuota);
    await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 40_000, window: "day" });
    const real = await call(images, { key: account.key, body: image(2) });
    const tried = await dry(account, images, image(2));
    expect(real).toMatchObject({ status: 402, body: { error: { code } } });
    expect({ status: tried.status, body: tried.body }).toEqual({ status: real.status, body: real.body });
    expect(tried.headers.get("retry-after")).toBe(real.headers.get("retry-after"));
    expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
  }
});

test("a dry run of a replay is not refused for limits that the replay does not count against", async () => {
  const account = await newAccount(0.03);
  const headers = { "idempotency-key": unique() };
  const body = { model: "imgA-4", prompt: unique() };
  const { id } = (await call(images, { key: account.key, body, headers })).body;
  await env.WALLETS.getByName(account.id).changeBudget(account.keyId, { amount: 10_000, window: "day" });
  const vars = { MAX_OPEN_TASKS: "1" };
  expect((await call(images, { key: account.key, body, headers, vars })).body.id).toBe(id);
  const tried = await call(`${images}?dry_run=true`, { key: account.key, body, headers, vars });
  expect(tried).toMatchObject({ status: 200, body: { price: 0, remaining_after: 0 } });
});

const estimate = (account: Account, body: unknown, more: object = {}) => call("/v1/estimates", { key: account.key, body, ...more });

test("an estimate answers what the dry run on the body's own path answers, prices and refusals alike, and stores nothing", async () => {
  const account = await newAccount();
  const poor = await newAccount(0.001);
  const source = await complete(account, videos, { model: "vidA-2", prompt: unique() });
  const remix = { model: "vidA-2", prompt: unique() };
  const none = `task_${"A".repeat(43)}`;
  const before = await readBalance(account);
  const cases: [path: string, body: Record<string, unknown>, more?: object][] = [
    [images, { model: "imgC-alias-pro", prompt: unique(), n: 2 }],
    [images, { model: "imgA-4", prompt: unique(), images: [`data:image/png;base64,${png.toBase64()}`] }],
    [images, { model: "imgA-4", prompt: unique(), n: 9, size: "5:4", callback_url: "nonsense" }],
    [images, { model: "imgA-4", prompt: unique(), max_cost: 0.001 }],
    [videos, { model: "vidC-1-0-pro-fast", prompt: unique(), duration: 3 }],
    [videos, { model: "vidA-2", url: "https://films.example/a.mp4", timestamps: "0,2" }],
    [chats, { model: "textA-1", messages, max_tokens: 1000 }],
    [chats, { model: "textA-1", messages: [] }],
    [`/v1/videos/${source}/remix`, remix, { video_id: source }],
    [`/v1/videos/${none}/remix`, remix, { video_id: none }],
  ];
  for (const of of [account, poor])
    for (const [path, body, more] of cases) {
      const tried = await dry(of, path, body);
      const estimated = await estimate(of, { ...body, ...more });
      const [told, expected] = [estimated, tried].map((answer) => ({
        status: answer.status,
        body: answer.body,
        ignored: answer.headers.get("x-dropped-params"),
      }));
      expect(told, JSON.stringify(body)).toEqual(expected);
    }
  expect(await readBalance(account)).toEqual(before);
  expect(await readBalance(poor)).toMatchObject({ reserved: 0, used: 0 });
});

test("an estimate ignores an idempotency key and counts as a read; its error for an unknown model names the models of every kind", async () => {
  const account = await newAccount();
  const body = { model: "imgA-4", prompt: unique() };
  const headers = { "idempotency-key": unique() };
  const { id } = (await call(images, { key: account.key, body, headers })).body;
  expect((await estimate(account, body, { headers })).body.price).toBe(0.03);
  expect((await call(images, { key: account.key, body, headers })).body.id).toBe(id);
  const vars = { SUBMISSIONS: { limit: async () => ({ success: false }) }, RATE_LIMITS: "on" } as unknown as Partial<Env>;
  expect((await estimate(account, body, { vars })).status).toBe(200);
  const noReads = { READS: { limit: async () => ({ success: false }) }, RATE_LIMITS: "on" } as unknown as Partial<Env>;
  expect((await estimate(account, body, { vars: noReads })).status).toBe(429);
  for (const [model, code] of [
    ["nothing", "model_not_found"],
    [7, "invalid_request"],
    [undefined, "invalid_request"],
  ])
    expect((await estimate(account, { ...body, model })).body.error).toMatchObject({
      code,
      param: "model",
      details: [{ allowed: expect.arrayContaining(["imgA-4", "vidA-2", "textA-1"]) }],
    });
  for (const [model, videoId] of [
    ["imgA-4", "task_a"],
    ["vidA-2", 7],
  ])
    expect((await estimate(account, { model, prompt: unique(), video_id: videoId })).body.error).toMatchObject({ param: "video_id" });
  expect((await call("/v1/estimates", { body })).status).toBe(401);
  expect((await call("/v1/estimates", { key: account.key })).status).toBe(405);
});

test("a client token estimates what it may submit, within its limits, and no chats", async () => {
  const account = await newAccount();
  const { body: made } = await call("/v1/tokens", {
    key: account.key,
    body: { tasks: 2, max_cost: 0.04, kinds: ["image"], expires_in: 60 },
  });
  const as = (body: unknown) => call("/v1/estimates", { key: made.token, body });
  expect((await as({ model: "imgA-4", prompt: unique() })).body).toMatchObject({ price: 0.03, remaining_after: 0.01 });
  expect(await as({ model: "imgA-4", prompt: unique(), n: 2 })).toMatchObject({
    status: 403,
    body: { error: { code: "token_exhausted" } },
  });
  expect(await as({ model: "vidA-2", prompt: unique() })).toMatchObject({ status: 403, body: { error: { code: "key_scope" } } });
  expect(await as({ model: "textA-1", messages })).toMatchObject({ status: 403, body: { error: { code: "key_scope" } } });
});
