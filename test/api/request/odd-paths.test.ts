/** Malformed paths and queries, as scanners send them: an error of the path's family with a proper status, never a 500. Contract 5. */

import { expect, test } from "vitest";
import { neverIssued } from "../../support/bodies.ts";
import { asAdmin, call, holdTime, newAccount, submit } from "../../support/gateway.ts";
import { expectRefusal } from "../../support/refusal.ts";

holdTime();

const oddities = [
  "%00",
  "x%00",
  "%0d%0aX-Injected:%201",
  "%0a%0a",
  "%1b%5b31m",
  "%7f",
  "%",
  "%zz",
  "%ff%fe",
  "%c0%ae%c0%ae",
  "%ed%a0%80",
  "%e2%80%ae",
  "%252e%252e%252f",
  "..%2f..%2fadmin%2faudit",
  "%5c..%5c",
  "'%20OR%20'1'%3D'1",
  "__proto__",
  "constructor",
  "*",
  ":id",
  "x".repeat(8_000),
];

test.each([
  ["GET", "/v1/tasks/", "", [404]],
  ["POST", "/v1/tasks/", "/cancel", [404]],
  ["GET", "/v1/videos/generations/", "", [404]],
  ["GET", "/v1/characters_tasks/", "", [404]],
  ["POST", "/v1/videos/", "/remix", [404]],
  ["DELETE", "/v1/characters/", "", [404]],
  ["GET", "/v1/", "", [404]],
  ["GET", "/", "", [404]],
  ["GET", "/assets/", "", [403]],
  ["GET", "/characters/", "", [403]],
  ["GET", "/admin/accounts/", "", [404]],
  ["PATCH", "/admin/accounts/", "", [404]],
  ["POST", "/admin/accounts/", "/keys", [404]],
  ["DELETE", "/admin/keys/", "", [404]],
] as const)("%s %s...%s with control characters and broken encodings is a 4xx", async (method, start, end, allowed) => {
  const { key } = await newAccount();
  const body = method === "POST" || method === "PATCH" ? { body: end === "/remix" ? { model: "vidA-2", prompt: "p" } : {} } : {};
  for (const odd of oddities) {
    const path = start + odd + end;
    expectRefusal(path, await call(path, { key: start.startsWith("/admin") ? "test-admin" : key, method, ...body }), [...allowed]);
  }
});

test("malformed queries are refused with 400 or find nothing", async () => {
  const { key } = await newAccount();
  for (const odd of oddities) {
    for (const name of ["limit", "status", "kind"]) {
      const path = `/v1/tasks?${name}=${odd}`;
      const answer = await call(path, { key });
      expectRefusal(path, answer, [400]);
      expect(answer.body.error.param).toBe(name);
    }
    for (const path of [
      `/v1/tasks?after=${odd}`,
      `/v1/characters?after=${odd}`,
      `/admin/accounts?after=${odd}`,
      `/admin/accounts?email=${odd}`,
    ]) {
      const answer = await call(path, { key: path.startsWith("/admin") ? "test-admin" : key });
      if (answer.status !== 200 || path.includes("after")) expectRefusal(path, answer, [400]);
      if (path.includes("after")) expect(answer.body.error.param).toBe("after");
    }
    expect((await call(`/v1/models?${odd}=${odd}&language=${odd}`, { key })).status, odd).toBe(200);
  }
});

test("a repeated parameter is 400 that says so, also on a status query and a submission", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: "p" });
  const image = { method: "POST", body: { model: "imgA-4", prompt: "p" } };
  for (const [path, param, request] of [
    ["/v1/tasks?limit=1&limit=1", "limit", {}],
    [`/v1/tasks/${id}?wait=1&wait=1`, "wait", {}],
    ["/v1/images/generations?wait=1&wait=1", "wait", image],
    ["/v1/images/generations?dry_run=true&dry_run=true", "dry_run", image],
    ["/v1/usage?from=2026-01-01&from=2026-01-01", "from", {}],
  ] as const) {
    const { status, body } = await call(path, { key: account.key, ...request });
    expect(status, path).toBe(400);
    expect(body.error).toMatchObject({ code: "invalid_request", param, message: `${param}: must be given once` });
  }
});

test.each(["//v1/tasks", "/v1//tasks", "/v1/tasks//", "/v1/tasks/x//", "/V1/tasks", "/v1/tasks;x=1", "/v1/./unknown", "/%761/tasks/x/y"])(
  "%s is not accepted as another spelling of a path",
  async (path) => {
    const { key } = await newAccount();
    const { status, body } = await call(`https://gateway.example${path}`, { key });
    expect(status).toBe(404);
    expect(body.error.code).toBe("not_found");
  },
);

test("an empty `after`, one of another account, and one of another list are 400 in the path's family", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const foreign = await submit(other, "/v1/images/generations", { model: "imgA-4", prompt: "p" });
  const own = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt: "p" });
  for (const path of ["/v1/tasks?after=", `/v1/tasks?after=${foreign}`, `/v1/tasks?after=${neverIssued}`, `/v1/characters?after=${own}`]) {
    const answer = await call(path, { key: account.key });
    expectRefusal(path, answer, [400]);
    expect(answer.body.error).toMatchObject({ code: "invalid_request", param: "after" });
  }
  expect(await call(`/v1/tasks?after=${own}`, { key: account.key })).toMatchObject({ status: 200, body: { data: [], has_more: false } });
});

test("a trailing slash is the same path, in every family", async () => {
  const account = await newAccount();
  const id = await submit(account, "/v1/images/generations/", { model: "imgA-4", prompt: "p" });
  for (const path of [`/v1/tasks/${id}`, "/v1/tasks", "/v1/models", "/v1/characters", "/v1/balance", "/user/balance", "/healthz"]) {
    const [plain, slashed] = [await call(path, { key: account.key }), await call(`${path}/`, { key: account.key })];
    expect([path, slashed.status, slashed.body]).toEqual([path, 200, plain.body]);
  }
  expect((await asAdmin(`/accounts/${account.id}/`)).body).toMatchObject({ id: account.id });
  expect((await call(`/v1/tasks/${id}/cancel/`, { key: account.key, method: "POST" })).status).toBe(200);
  expect((await call("/v1/tasks/?limit=1", { key: account.key })).body.data).toHaveLength(1);
  expect(await call("/v1/images/generations/", { key: account.key })).toMatchObject({ status: 405 });
});

test.each(["/tasks", "/chat/completions", "/images/generations/", "//v1/tasks", "/v1//tasks", "/v1/tasks//", "/v2/tasks"])(
  "%s is 404 and says where the API is",
  async (path) => {
    const { key } = await newAccount();
    const { status, body } = await call(`https://gateway.example${path}`, { key });
    expect([status, body.error.code]).toEqual([404, "not_found"]);
    expect(body.error.message).toBe("There is nothing at this address. The API begins at https://gateway.example/v1/");
    const korean = await call(`https://gateway.example${path}?language=ko`, { key });
    expect(korean.body.error.message).toContain("https://gateway.example/v1/");
  },
);
