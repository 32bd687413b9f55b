/** Whatever is sent, the answer is a documented one; valid bodies are taken, and one mutation is refused by its name. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Action } from "../../src/catalog/models.ts";
import { type ErrorCode, wireOf } from "../../src/errors.ts";
import { type Account, type Answer, asAdmin, books, call, finish, holdTime, newAccount, submit } from "../support/gateway.ts";
import { anyFields, inheritedNames, json, text, validBodies } from "./arbitraries.ts";
import { mutationOf } from "./mutations.ts";

holdTime();

const pathOf: Record<Action, string> = {
  chat: "/v1/chat/completions",
  image: "/v1/images/generations",
  video: "/v1/videos/generations",
  character: "/v1/videos/generations",
  remix: "/v1/videos/{film}/remix",
};
const actions: Action[] = ["chat", "image", "video", "character", "remix"];

/** A task with a film that remixes and characters can start from. */
async function filmOf(account: Account): Promise<string> {
  const film = await submit(account, "/v1/videos/generations", { model: "vidA-2", prompt: "a quiet street" });
  expect((await finish(account, film)).body.data.status).toBe("completed");
  return film;
}

/** Asks, and asks again when the machine rather than the gateway may have been slow. */
async function within1s(ask: () => Promise<Answer>): Promise<Answer> {
  for (let turn = 1; ; turn++) {
    const started = performance.now();
    const answer = await ask();
    const took = performance.now() - started;
    if (took < 1000) return answer;
    expect(turn, `${took} ms`).toBeLessThan(3);
  }
}

/** Sees that an error has its family's envelope, and a code that goes with its status. */
function expectDocumented(path: string, { status, headers, body }: Answer, isHead = false): void {
  expect(status).toBeLessThan(500);
  expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  if (status < 400 || isHead) return;
  expect(headers.get("content-type")).toMatch(/^application\/json/);
  const { pathname } = new URL(`https://gateway.example${path}`);
  if (/^(?:\/v1)?(?:\/user)?\/balance$/.test(pathname)) return expect(body).toEqual({ success: false, message: expect.any(String) });
  if (/^\/v1\/tasks(?:\/|$)/.test(pathname)) expect(body).toEqual({ code: status, message: body.error.message, error: expect.any(Object) });
  else expect(Object.keys(body as object)).toEqual(["error"]);
  const { code, type, message, param, details, ...rest } = body.error as Record<string, unknown>;
  expect(rest).toEqual({});
  expect(wireOf(code as ErrorCode)).toEqual({ status, type });
  expect(message).toEqual(expect.stringMatching(/./));
  if (details === undefined) return expect(param).toBeNull();
  expect((details as { param: string }[])[0]!.param).toBe(param);
  for (const detail of details as object[]) expect(detail).toMatchObject({ param: expect.any(String), message: expect.any(String) });
}

for (const action of actions) {
  test(`${action}: valid bodies are accepted`, async () => {
    const account = await newAccount(null);
    const film = action === "character" || action === "remix" ? await filmOf(account) : "";
    const path = pathOf[action].replace("{film}", film);
    await fc.assert(
      fc.asyncProperty(validBodies(action, film), async ({ body }) => {
        const answer = await within1s(() => call(path, { key: account.key, body }));
        expectDocumented(path, answer);
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        if (action !== "chat") expect(answer.body).toMatchObject({ object: "generation.task", metadata: { kind: action } });
        // Ended at once, so that nothing goes on in the background.
        if (action !== "chat") expect((await call(`/v1/tasks/${answer.body.id}/cancel`, { key: account.key, body: {} })).status).toBe(200);
      }),
      { numRuns: 100 },
    );
  }, 30_000);

  test(`${action}: one mutation of a valid body is refused with its param, and leaves nothing`, async () => {
    const account = await newAccount(null);
    const film = action === "character" || action === "remix" ? await filmOf(account) : "";
    const path = pathOf[action].replace("{film}", film);
    const before = await books(account);
    await fc.assert(
      fc.asyncProperty(mutationOf(validBodies(action, film)), async ({ body, param }) => {
        const answer = await within1s(() => call(path, { key: account.key, body }));
        expectDocumented(path, answer);
        expect(answer.status, JSON.stringify(answer.body)).toBe(400);
        expect([...new Set((answer.body.error.details as { param: string }[]).map((detail) => detail.param))]).toEqual([param]);
      }),
      { numRuns: 200 },
    );
    expect(await books(account)).toEqual(before);
  });
}

const fieldNames = [
  "model",
  "prompt",
  "size",
  "n",
  "quality",
  "images",
  "image_with_roles",
  "metadata",
  "duration",
  "url",
  "from_task",
  "timestamps",
  "messages",
  "stream",
  "stop",
  "tools",
  "logit_bias",
  "email",
  "name",
  "quota",
  "add",
  "disabled",
  "expires_at",
  "callback_url",
];
const modelNames = ["textA-1", "imgA-4", "vidA-2", "vidB-3.1-fast", "vidC-1-0-pro-fast", "vidD-02"];
const known = fc.oneof(json, text, fc.constantFrom(...modelNames), fc.double(), fc.maxSafeInteger(), fc.array(json, { maxLength: 12 }));
const fields = anyFields(
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...fieldNames) }, text, fc.constantFrom(...inheritedNames)),
  known,
  8,
);
const deep = fc
  .tuple(fc.constantFrom(...fieldNames), fc.nat(3000), fc.boolean())
  .map(([name, depth, asArray]) =>
    asArray ? `{"${name}":${"[".repeat(depth)}1${"]".repeat(depth)}}` : `{"${name}":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
  );
const withModel = fc.tuple(fields, fc.constantFrom(...modelNames)).map(([some, model]) => ({ ...some, model }));
/** Texts of bodies: any JSON, JSON with the fields we know, deep JSON, and what is no JSON at all. */
const bodies = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  fields.map((value) => JSON.stringify(value)),
  withModel.map((value) => JSON.stringify(value)),
  deep,
  text,
);

const endpoints: { name: string; method: string; path: string; statuses: number[] }[] = [
  { name: "chat", method: "POST", path: "/v1/chat/completions", statuses: [200, 400] },
  { name: "images", method: "POST", path: "/v1/images/generations", statuses: [200, 400] },
  { name: "videos", method: "POST", path: "/v1/videos/generations", statuses: [200, 400, 404] },
  { name: "remix", method: "POST", path: "/v1/videos/{film}/remix", statuses: [200, 400] },
  { name: "remix of nothing", method: "POST", path: "/v1/videos/task_x/remix", statuses: [400, 404] },
  { name: "cancel", method: "POST", path: "/v1/tasks/{film}/cancel", statuses: [400, 409] },
  { name: "accounts", method: "POST", path: "/admin/accounts", statuses: [201, 400, 409] },
  { name: "an account", method: "PATCH", path: "/admin/accounts/{account}", statuses: [200, 400] },
  { name: "keys", method: "POST", path: "/admin/accounts/{account}/keys", statuses: [201, 400] },
];

for (const { name, method, path, statuses } of endpoints)
  test(`any body to ${name} has a documented answer`, async () => {
    const account = await newAccount(null);
    const film = path.includes("{film}") ? await filmOf(account) : "";
    const to = path.replace("{film}", film).replace("{account}", account.id);
    const key = path.startsWith("/admin") ? "test-admin" : account.key;
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const answer = await within1s(() => call(to, { key, method, body }));
        expectDocumented(to, answer);
        expect(statuses).toContain(answer.status);
      }),
      { numRuns: 100 },
    );
    await books(account);
  });

/** A header's value: Latin-1 without control characters, as HTTP carries it. */
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code < 0x7f || code > 0x9f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 30,
});
const some = (...values: string[]) => fc.option(fc.oneof(fc.constantFrom(...values), headerText), { nil: undefined });
const segment = fc.oneof(
  fc.constantFrom(
    "v1",
    "tasks",
    "videos",
    "generations",
    "remix",
    "cancel",
    "admin",
    "accounts",
    "keys",
    "assets",
    "characters",
    "balance",
  ),
  text.map((word) => encodeURIComponent(word.toWellFormed())),
  fc.constantFrom("", "%", "%2F", "%00", "%E0%A4%A", "%ff", "..", "%2e%2e", "*", ":id", "task_", `task_${"A".repeat(43)}`),
);
const paths = [
  "/v1/chat/completions",
  "/v1/images/generations",
  "/v1/videos/generations",
  "/v1/videos/{film}/remix",
  "/v1/videos/generations/{film}",

  "/v1/tasks",
  "/v1/tasks/{film}",
  "/v1/tasks/{film}/cancel",
  "/v1/characters_tasks/{film}",
  "/v1/models",
  "/v1/characters",
  "/healthz",
  "/v1/balance",
  "/balance",
  "/v1/user/balance",
  "/user/balance",
  "/admin/accounts",
  "/admin/audit",
  "/admin/accounts/{account}/keys",
];
const query = fc
  .record(
    {
      wait: some("1", "60", "0", "61", "1e1"),
      language: some("zh", "ko", "xx"),
      limit: some("1", "100", "0", "101", "-1"),
      after: some("{film}"),
      status: some("completed", "queued"),
      kind: some("video"),
      email: some("a@b.example"),
    },
    { requiredKeys: [] },
  )
  .map((values) =>
    new URLSearchParams(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)).toString(),
  );
const headers = fc.record(
  {
    authorization: some("Bearer {key}", "Bearer test-admin", "bearer  {key} ", "Basic eDp5", "Bearer"),
    range: some("bytes=0-9", "bytes=-1", "bytes=9-1", "bytes=99999999-"),
    "idempotency-key": some("", "one", "x".repeat(256)),
    "if-none-match": some("*", 'W/"a", "b"'),
    "if-range": some('"a"'),
    "accept-language": some("zh-CN,ko;q=0.9", "*;q=x", "ja;q=-1"),
    "content-type": some("application/json", "text/plain", ""),
    origin: some("https://site.example"),
    "x-forwarded-for": some("1.2.3.4"),
  },
  { requiredKeys: [] },
);

test("any path, method, query and headers have a documented answer", async () => {
  const account = await newAccount(null);
  const film = await filmOf(account);
  const asset = new URL((await call(`/v1/videos/generations/${film}`, { key: account.key })).body.url as string);
  const fill = (part: string) => part.replace("{film}", film).replace("{key}", account.key).replace("{account}", account.id);
  const path = fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constantFrom(...paths), query).map(([known, asked]) => `${fill(known)}?${fill(asked)}`) },
    { weight: 2, arbitrary: fc.tuple(fc.array(segment, { maxLength: 5 }), query).map(([parts, asked]) => `/${parts.join("/")}?${asked}`) },
    { weight: 1, arbitrary: fc.constantFrom(asset.pathname + asset.search, asset.pathname, `${asset.pathname}x${asset.search}`) },
  );
  const methods = fc.constantFrom("GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS");
  await fc.assert(
    fc.asyncProperty(path, methods, headers, fc.option(bodies, { nil: undefined }), async (to, method, given, body) => {
      const entries = Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined);
      const sent = Object.fromEntries(entries.map(([name, value]) => [name, fill(value)]));
      const takesBody = method !== "GET" && method !== "HEAD";
      const answer = await within1s(() => call(to, { method, headers: sent, ...(takesBody && body !== undefined && { body }) }));
      expectDocumented(to, answer, method === "HEAD");
    }),
    { numRuns: 400 },
  );
  expect((await asAdmin("/audit")).status).toBe(200);
});
