/** Errors in every family: unknown paths, wrong methods, internal faults. Contract 5. */

import { env, exports } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { toBatchId } from "../../../src/base/ids.ts";
import { TaskObject } from "../../../src/tasks/object/task-object.ts";
import { bindings, failOnce } from "../../support/faults.ts";
import { asAdmin, call, finish, holdTime, newAccount, submit, unique, settledBalance } from "../../support/gateway.ts";

holdTime();

const isRequestId = expect.stringMatching(/^[0-9a-f-]{36}$/);
const notFound = {
  message: "There is nothing at this address: the path is wrong, or its id does not exist or has expired.",
  type: "invalid_request",
  code: "not_found",
  param: null,
};
const neverIssuedFile = `file_${"A".repeat(55)}`;
const neverBegunBatch = toBatchId(env.BATCHES.newUniqueId());
const broken = { message: "Something went wrong on our side.", type: "internal_error", code: "internal_error", param: null };

test.each(["/v1", "/v1/unknown", "/v1/images", "/v1/images/x", "/v1/videos", "/v1/videos/x", "/v1/chat", "/v1/models/x/y"])(
  "%s is unknown: 404",
  async (path) => {
    const { key } = await newAccount();
    for (const method of ["GET", "POST", "DELETE"]) {
      const { status, headers, body } = await call(path, { key, method });
      expect(status).toBe(404);
      expect(body).toEqual({ error: notFound });
      expect(headers.get("x-request-id")).toEqual(isRequestId);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  },
);

test("an unknown path within a family is 404 in the family's own envelope", async () => {
  const { key } = await newAccount();
  expect((await call("/v1/tasks/x/y", { key })).body).toEqual({ code: 404, message: notFound.message, error: notFound });
  expect((await asAdmin("/unknown")).body).toEqual({ error: notFound });
});

test.each([
  ["GET", "/v1/files/file_none", "file_not_found", "The file does not exist, or has expired."],
  ["GET", `/v1/files/${neverIssuedFile}/content`, "file_not_found", "The file does not exist, or has expired."],
  ["DELETE", `/v1/files/${neverIssuedFile}`, "file_not_found", "The file does not exist, or has expired."],
  ["GET", "/v1/batches/batch_none", "batch_not_found", "The batch does not exist."],
  ["GET", `/v1/batches/${neverBegunBatch}`, "batch_not_found", "The batch does not exist."],
  ["POST", `/v1/batches/${neverBegunBatch}/cancel`, "batch_not_found", "The batch does not exist."],
  ["GET", `/v1/batches/${neverBegunBatch}/results`, "batch_not_found", "The batch does not exist."],
  ["DELETE", "/v1/characters/ch_none", "character_not_found", "The character does not exist."],
])("%s %s names what is not there, in every language", async (method, path, code, message) => {
  const { key } = await newAccount();
  const error = { message, type: "invalid_request", code, param: null };
  expect(await call(path, { key, method })).toMatchObject({ status: 404, body: { error } });
  const messages = new Set([message]);
  for (const language of ["zh", "ko", "ja"]) {
    const { body } = await call(`${path}?language=${language}`, { key, method });
    expect(body.error.code).toBe(code);
    messages.add(body.error.message as string);
  }
  expect(messages.size).toBe(4);
});

const families: [string, string[], string[]][] = [
  ["/v1/chat/completions", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/images/generations", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/videos/generations", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/videos/generations/x", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/videos/x/remix", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/characters_tasks/x", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/tasks", ["PUT", "DELETE"], ["GET", "POST"]],
  ["/v1/tasks/x", ["POST", "PUT"], ["GET", "DELETE"]],
  ["/v1/tasks/x/cancel", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/tasks/x/receipt", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/.well-known/jwks.json", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/tokens", ["GET", "PUT", "DELETE"], ["POST"]],
  ["/v1/key", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/models", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/characters", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/v1/characters/x", ["POST", "PUT", "GET"], ["DELETE"]],
  ["/assets/x/y", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/characters/x", ["POST", "PUT", "DELETE"], ["GET"]],
  ["/admin/accounts", ["PUT", "DELETE"], ["GET", "POST"]],
  ["/admin/accounts/x", ["POST", "PUT"], ["GET", "PATCH", "DELETE"]],
  ["/admin/accounts/x/keys", ["PUT", "DELETE"], ["GET", "POST"]],
  ["/admin/keys/x", ["GET", "POST"], ["DELETE", "PATCH"]],
  ["/admin/audit", ["POST", "DELETE"], ["GET"]],
  ["/admin/reconcile", ["GET", "DELETE"], ["POST"]],
  ["/healthz", ["POST", "DELETE"], ["GET"]],
];

test.each(families)("%s with %j is 405, and Allow lists %j", async (path, methods, allowed) => {
  const { key } = await newAccount();
  for (const method of methods) {
    const { status, headers, body } = await call(path, { key: path.startsWith("/admin") ? "test-admin" : key, method });
    expect(status, method).toBe(405);
    const allow = headers.get("allow")?.split(", ");
    for (const one of allowed) expect(allow).toContain(one);
    expect(allow).not.toContain(method);
    const error = {
      message: `This method is not allowed here. Allowed: ${headers.get("allow")}`,
      type: "invalid_request",
      code: "method_not_allowed",
      param: null,
    };
    expect(body).toEqual(path.startsWith("/v1/tasks") ? { code: 405, message: error.message, error } : { error });
  }
});

test("Allow lists every method of the path and no other, and such an answer has each header once", async () => {
  const { key } = await newAccount();
  const refused = async (path: string, method: string) => {
    const { status, headers } = await call(path, { key, method });
    return [status, headers.get("allow"), headers.get("vary"), headers.get("content-language")];
  };
  expect(await refused("/v1/tasks/x/callback", "PUT")).toEqual([405, "GET, HEAD, POST", "Accept-Language", "en"]);
  expect(await refused("/v1/videos/x/remix", "HEAD")).toEqual([405, "POST", "Accept-Language", "en"]);
  expect(await refused("/assets/x/y", "DELETE")).toEqual([405, "GET, HEAD, OPTIONS", "Accept-Language", "en"]);
  expect(await refused("/v1/tasks/x", "PURGE")).toEqual([405, "GET, HEAD, DELETE", "Accept-Language", "en"]);
});

test("every answer has nosniff and its own request id", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const { body } = await finish(account, id);
  const { url } = body.data.result.images[0];
  const chat = { model: "textA-1", stream: true, messages: [{ role: "user", content: "hi" }] };
  const etag = (await call(`/v1/tasks/${id}`, { key: account.key })).headers.get("etag")!;
  const answers = [
    await call("/healthz"),
    await call("/v1/models", { key: account.key }),
    await call("/v1/models"),
    await call("/v1/balance"),
    await call("/v1/balance", { key: account.key }),
    await call(`/v1/tasks/${id}`, { key: account.key, headers: { "if-none-match": etag } }),
    await call("/v1/chat/completions", { key: account.key, body: chat }),
    await call(url[0]),
    await call(url[0].slice(0, -1)),
    await call("/v1/images/generations", { key: account.key, body: {} }),
    await asAdmin("/accounts"),
    await asAdmin(`/keys/${account.keyId}`, { method: "DELETE" }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 401, 200, 304, 200, 200, 403, 400, 200, 204]);
  for (const { headers } of answers) expect(headers.get("x-content-type-options")).toBe("nosniff");
  const ids = answers.map(({ headers }) => headers.get("x-request-id"));
  expect(ids).toEqual(answers.map(() => isRequestId));
  expect(new Set(ids).size).toBe(ids.length);
});

test("an internal fault is 500 with a fixed message in each family, without any detail", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const url = (await finish(account, id)).body.data.result.images[0].url[0] as string;
  const read = vi.spyOn(TaskObject.prototype, "read");
  const running = await submit(account, "/v1/videos/generations", { model: "vidA-2", prompt: unique() });
  read.mockRejectedValue(new TypeError("SELECT secret FROM provider.example at task-object.ts:7"));
  const within = async (path: string) => {
    const { status, headers, body } = await call(path, { key: account.key });
    expect(status, path).toBe(500);
    expect(headers.get("x-request-id")).toEqual(isRequestId);
    return body;
  };
  expect(await within(`/v1/tasks/${running}`)).toEqual({ code: 500, message: broken.message, error: broken });
  expect(await within(`/v1/videos/generations/${running}`)).toEqual({ error: broken });
  expect(await within(`/v1/characters_tasks/${running}`)).toEqual({ error: broken });
  failOnce(bindings.statement(), "run");
  expect(await within("/v1/characters")).toEqual({ error: broken });
  failOnce(bindings.bucket(), "get");
  expect(await within(url)).toEqual({ error: broken });
  failOnce(bindings.database(), "batch");
  expect(await asAdmin("/audit")).toMatchObject({ status: 500, body: { error: broken } });
  const { key } = await newAccount();
  failOnce(bindings.statement(), "run");
  expect(await call("/v1/models", { key })).toMatchObject({ status: 500, body: { error: broken } });
});

test("a temporary fault is 503 with Retry-After", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/videos/generations", { model: "vidA-2", prompt: unique() });
  for (const mark of ["retryable", "overloaded"]) {
    vi.spyOn(bindings.database(), "batch").mockRejectedValueOnce(Object.assign(new Error("reset"), { [mark]: true }));
    const { status, headers, body } = await call("/v1/tasks", { key: account.key });
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(body).toMatchObject({ code: 503, error: { type: "internal_error", code: "unavailable" } });
  }
  expect((await call(`/v1/tasks/${id}`, { key: account.key })).status).toBe(200);
});

test("a failing upstream's name, URL and text do not appear in the answer", async () => {
  const account = await newAccount();
  const body = { model: "textA-1", messages: [{ role: "user", content: `sandbox:fail ${unique()}` }] };
  const answer = await call("/v1/chat/completions", { key: account.key, body });
  expect(answer.status).toBe(500);
  expect(answer.body).toEqual({ error: broken });
  expect(JSON.stringify([answer.body, [...answer.headers]])).not.toMatch(/sandbox|provider|upstream|http:/);
  expect(await settledBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("paths and queries that are not valid text are 4xx", async () => {
  const { key } = await newAccount();
  for (const path of [
    "/%E0%A4%A",
    "/v1/tasks/%E0%A4%A",
    "/v1/videos/%E0%A4%A/remix",
    "/v1/characters/%E0%A4%A",
    "/v1/tasks?status=%E0%A4%A",
  ]) {
    const { status } = await call(path, { key, ...(path.includes("remix") && { body: { model: "vidA-2", prompt: unique() } }) });
    expect(status, path).toBeGreaterThanOrEqual(400);
    expect(status, path).toBeLessThan(500);
  }
});

test("HEAD of a status query returns its headers without a body", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: unique() });
  const headers = { authorization: `Bearer ${account.key}` };
  const response = await exports.default.fetch(`https://gateway.example/v1/tasks/${id}`, { method: "HEAD", headers });
  expect([response.status, await response.text()]).toEqual([200, ""]);
  expect(response.headers.get("etag")).toMatch(/^W\//);
});

const MiB = 1024 * 1024;
const chats = "/v1/chat/completions";
const padded = (bytes: number) => JSON.stringify({ padding: "x".repeat(bytes) });

test.each<[string, string, unknown, string]>([
  ["the only allowed number", "/v1/videos/generations", { model: "vidB-3.1-fast", prompt: "a quay", duration: 5 }, "duration: must be 8"],
  ["the only allowed word", "/v1/batches?dry_run=true", {}, "dry_run: must be false"],
  ["an empty list", chats, { model: "textA-1", messages: [] }, "messages: must not be empty"],
  ["no key in the header", "/v1/tasks", undefined, "The API key or token is missing or not valid. Send Authorization: Bearer <key>."],
  ["the limit of a body", "/v1/batches", padded(MiB), "The request body is too large: at most 1 MiB are allowed."],
  ["the limit of a chat", chats, padded(10 * MiB), "The request body is too large: at most 10 MiB are allowed."],
  [
    "the limits of a body with images",
    "/v1/images/generations",
    padded(10 * MiB),
    "The request body is too large: at most 72 MiB, and 10 MiB without its inline images, are allowed.",
  ],
])("an error names what is allowed: %s", async (_, path, body, message) => {
  const sent = body === undefined ? {} : { key: (await newAccount()).key, body };
  expect((await call(path, sent)).body.error.message).toBe(message);
});
