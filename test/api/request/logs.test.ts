/** The log: one JSON object per line, with ids and outcomes, without secrets of callers or providers. */

import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { statusLogShare } from "../../../src/config.ts";
import { bindings, failOnce, openStub } from "../../support/faults.ts";
import { type Account, call, deliver, finish, holdTime, newAccount, passToPoll, script, submit, unique } from "../../support/gateway.ts";
import { pixel as png } from "../../media/images.ts";

holdTime();

type Line = Record<string, string | number | boolean>;

/** Collects every log line from now on. */
function capture(): { texts: string[]; lines: () => Line[] } {
  const texts: string[] = [];
  for (const method of ["log", "info", "warn", "error", "debug"] as const)
    vi.spyOn(console, method).mockImplementation((...values: unknown[]) => void texts.push(values.map(String).join(" ")));
  return { texts, lines: () => texts.map((text) => JSON.parse(text) as Line) };
}

const images = "/v1/images/generations";
const secretKey = "supersecret-idempotency";
const inputUrl = "https://pictures.example/a.png?token=input-url-token";

async function stream(account: Account, content: string): Promise<void> {
  const body = JSON.stringify({ model: "textA-1", stream: true, messages: [{ role: "user", content }] });
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const response = await exports.default.fetch("https://gateway.example/v1/chat/completions", { method: "POST", headers, body });
  await response.text().catch(() => undefined);
}

test("no log line contains a secret: no prompt, key, signature, token or image", async () => {
  const account = await newAccount();
  const prompt = `my-password-is-hunter2 ${unique()}`;
  const { texts, lines } = capture();
  await script({ match: prompt, starts: [503], polls: [500, { progress: 5 }], downloads: ["truncated"] });
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response(Uint8Array.fromBase64(png)));
  const body = { model: "imgA-4", prompt, images: [inputUrl, `data:image/png;base64,${png}`] };
  const id = await submit(account, images, body, { "idempotency-key": secretKey });
  failOnce(bindings.queue(), "send");
  const { data } = (await finish(account, id, 20)).body;
  expect(data.status).toBe("completed");
  const url = new URL(data.result.images[0].url[0]);
  await call(url.href);
  await call(`${url.href.slice(0, -1)}x`);
  failOnce(bindings.bucket(), "get");
  await call(url.href);
  for (const ending of ["", "sandbox:fail", "sandbox:reject"]) {
    const chat = { model: "textA-1", messages: [{ role: "user", content: `${prompt} ${ending}` }] };
    await call("/v1/chat/completions", { key: account.key, body: chat });
  }
  for (const ending of ["", "break"]) await stream(account, `${prompt} ${ending}`);
  const failing = `${prompt} again`;
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => Promise.reject(new TypeError(`cannot reach ${inputUrl}`)));
  await deliver(await submit(account, images, { ...body, prompt: failing }));
  failOnce(bindings.database(), "batch");
  await call(images, { key: account.key, body: { model: "imgA-4", prompt } });
  failOnce(bindings.statement(), "first");
  await call("/v1/balance", { key: account.key });
  await call("/admin/audit", { key: "test-admin" });
  await call("/admin/audit", { key: "test-admin-wrong" });
  await call(`/v1/tasks?key=${account.key}`, { key: account.key });

  expect(texts.length).toBeGreaterThan(30);
  const secrets = {
    prompt: "hunter2",
    "API key": account.key.slice(12),
    signature: url.searchParams.get("signature")!,
    "asset query": "signature=",
    "operator's token": "test-admin",
    "signing secret": "test-signing-secret",
    "idempotency key": secretKey,
    "caller's URL": "input-url-token",
    "inline image": png.slice(20, 60),
    "upstream's answer": "Hello there",
  };
  for (const [name, secret] of Object.entries(secrets))
    expect(
      texts.filter((text) => text.includes(secret)),
      name,
    ).toEqual([]);
  for (const line of lines()) expect(line).toMatchObject({ unit: expect.any(String), outcome: expect.any(String) });
});

test("each request writes one line: id, path, status, outcome, duration and caller", async () => {
  const account = await newAccount();
  const { lines } = capture();
  const ok = await call("/v1/tasks?limit=1", { key: account.key });
  const missing = await call("/v1/tasks/x", { key: account.key });
  const stranger = await call("/v1/balance");
  const common = { unit: "request", ms: expect.any(Number) };
  const who = { account: account.id, key: account.keyId };
  const readId = ({ headers }: { headers: Headers }) => headers.get("x-request-id");
  expect(lines()).toEqual([
    { ...common, ...who, request: readId(ok), path: "GET /v1/tasks", status: 200, outcome: "ok" },
    { ...common, ...who, request: readId(missing), path: "GET /v1/tasks/x", status: 404, outcome: "task_not_found", task: "x" },
    { ...common, request: readId(stranger), path: "GET /v1/balance", status: 401, outcome: "unauthorized" },
  ]);
});

test("a task's log lines can be found by its id and its request's id", async () => {
  const account = await newAccount();
  const prompt = unique();
  await script({ match: prompt, starts: [503], polls: [{ progress: 10 }, 500] });
  const { lines } = capture();
  const answer = await call(images, { key: account.key, body: { model: "imgC-alias-pro", prompt } });
  const { id } = answer.body;
  await finish(account, id, 20);
  const model = "imgC-3-pro-image-preview";
  const of = (unit: string) => lines().filter((line) => line["unit"] === unit && line["task"] === id);
  const known = { request: answer.headers.get("x-request-id"), task: id, account: account.id, model, ms: expect.any(Number) };
  expect(of("request")[0]).toMatchObject({ ...known, path: `POST ${images}`, outcome: "ok" });
  const work = { ...known, provider: "sandbox", attempt: expect.any(Number) };
  expect(of("dispatch").map(({ step, outcome }) => [step, outcome])).toEqual([
    ["start", "fault"],
    ["start", "accepted"],
    ["collect", "completed"],
  ]);
  expect(of("dispatch").map(({ attempt }) => attempt)).toEqual([1, 2, 1]);
  for (const line of of("dispatch")) expect(line).toMatchObject(work);
  // A poll has a line only if it fails; after a successful one the collection follows.
  expect(of("poll").map(({ outcome }) => outcome)).toEqual(["fault"]);
  for (const line of of("poll")) expect(line).toMatchObject(work);
  expect(of("settle")).toEqual([expect.objectContaining({ ...work, outcome: "completed" })]);
});

test("in production a task writes one line, a chat one, a streamed chat two, and one of a hundred submissions, status queries and reads of files writes one", async () => {
  const vars = { LOG: "tasks", LOG_STATUS_EVERY: "100" };
  expect([statusLogShare({ ENVIRONMENT: "production" } as Env), statusLogShare({ ENVIRONMENT: "local" } as Env)]).toEqual([100, 1]);
  const account = await newAccount();
  const body = { model: "imgA-4", prompt: unique() };
  const captured = capture();
  // Objects of earlier tests may settle meanwhile.
  const lines = () => captured.lines().filter((line) => line["unit"] !== "settle" || line["account"] === account.id);
  const random = vi.spyOn(Math, "random").mockReturnValue(0.5);
  const submission = await call(images, { key: account.key, body, vars });
  const { id } = submission.body;
  await runInDurableObject(openStub(id), (object) => void Object.assign(object, { env: { ...env, ...vars } }));
  const query = () => call(`/v1/tasks/${id}`, { key: account.key, vars });
  await deliver(id, "gateway-dispatch", vars);
  await query();
  await passToPoll(id);
  await deliver(id, "gateway-dispatch", vars);
  const { status, result } = (await query()).body.data;
  expect(status).toBe("completed");
  const { pathname, search } = new URL(result.images[0].url[0]);
  const read = (more = "") => call(pathname + search + more, { vars });
  expect((await read()).status).toBe(200);
  // What the line of the submission would say is in that of the task's end.
  expect(lines()).toEqual([
    {
      unit: "settle",
      request: submission.headers.get("x-request-id"),
      task: id,
      account: account.id,
      key: account.keyId,
      kind: "image",
      model: "imgA-4",
      provider: "sandbox",
      attempt: 1,
      submitted: expect.any(Number),
      outcome: "completed",
      charged: 30_000,
      ms: expect.any(Number),
    },
  ]);
  const refused = await call(images, { key: account.key, body: { ...body, n: 100 }, vars });
  expect(lines().at(-1)).toMatchObject({ unit: "request", path: `POST ${images}`, status: 400, outcome: refused.body.error.code });
  random.mockReturnValue(0.009);
  await call(images, { key: account.key, body: { ...body, prompt: unique() }, vars });
  expect(lines().at(-1)).toMatchObject({
    unit: "request",
    path: `POST ${images}`,
    every: 100,
    status: 200,
    outcome: "ok",
    key: account.keyId,
  });
  await query();
  expect(lines().at(-1)).toMatchObject({ unit: "request", path: `GET /v1/tasks/${id}`, every: 100, status: 200 });
  await read();
  expect(lines().at(-1)).toMatchObject({ unit: "request", path: `GET ${pathname}`, every: 100, status: 200 });
  random.mockReturnValue(0.5);
  await read("x");
  expect(lines().at(-1)).toMatchObject({ path: `GET ${pathname}`, status: 403 });
  const foreign = await newAccount();
  await call(`/v1/tasks/${id}`, { key: foreign.key, vars });
  expect(lines().at(-1)).toMatchObject({ path: `GET /v1/tasks/${id}`, status: 404 });
  const chat = async (body: object) => {
    const before = lines().length;
    await call("/v1/chat/completions", {
      key: account.key,
      body: { model: "textA-1", messages: [{ role: "user", content: "hi" }], ...body },
      vars,
    });
    return lines()
      .slice(before)
      .map(({ unit }) => String(unit))
      .toSorted();
  };
  expect(await chat({})).toEqual(["request"]);
  expect(await chat({ stream: true })).toEqual(["request", "settle"]);
});

test.each([false, true])("a chat's log lines can be found the same way: streamed %s", async (isStream) => {
  const account = await newAccount();
  const { lines } = capture();
  if (isStream) await stream(account, "hi");
  else await call("/v1/chat/completions", { key: account.key, body: { model: "textA-1", messages: [{ role: "user", content: "hi" }] } });
  const of = (unit: string) => lines().find((line) => line["unit"] === unit);
  const request = of("request");
  expect(request).toMatchObject({ account: account.id, model: "textA-1", outcome: "ok", ms: expect.any(Number) });
  const known = { request: request!["request"], account: account.id, ms: expect.any(Number) };
  const task = expect.stringMatching(/^chatcmpl-/);
  // A whole answer is settled before its own line is written; a stream's line is written when it begins.
  const settled = isStream ? { unit: "settle", outcome: "completed" } : { unit: "request", outcome: "ok" };
  expect(of(settled.unit)).toMatchObject({ ...known, ...settled, task, charged: expect.any(Number), model: "textA-1" });
  expect(lines().filter(({ unit }) => unit === "settle")).toHaveLength(isStream ? 1 : 0);
  expect(of("dispatch")).toMatchObject({ ...known, task, provider: "sandbox", attempt: 1, outcome: "answered" });
});
