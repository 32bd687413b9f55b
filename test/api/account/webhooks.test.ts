/** The account's endpoint and secret for callbacks, and its test event. Contract 7. */

import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, test, vi } from "vitest";
import { testEvent } from "../../../src/api/schema/callbacks.ts";
import { readWebhook, sealSecrets } from "../../../src/db/webhooks.ts";
import { bindings } from "../../support/faults.ts";
import { call, holdTime, newAccount } from "../../support/gateway.ts";
import { hangs, hurryTimeouts, ok, receivers, readSecret, setEndpoint } from "../../support/receiver.ts";

holdTime();

const hook = "https://hooks.example.com/done?token=a";

test("an account has no endpoint until it sets one, and can change and remove it", async () => {
  const { key } = await newAccount();
  const read = async () => (await call("/v1/webhook", { key })).body as object;
  expect(await read()).toEqual({ url: null });
  for (const url of [hook, "https://other.example.com/", null, hook]) {
    expect(await call("/v1/webhook", { key, method: "PUT", body: { url } })).toMatchObject({ status: 200, body: { url } });
    expect(await read()).toEqual({ url });
  }
});

test("the endpoint and secret belong to the account", async () => {
  const [account, stranger] = [await newAccount(), await newAccount()];
  await setEndpoint(account, hook);
  expect((await call("/v1/webhook", { key: stranger.key })).body).toEqual({ url: null });
  expect(await readSecret(stranger)).not.toBe(await readSecret(account));
  for (const path of ["/v1/webhook", "/v1/webhook_secret"]) expect((await call(path)).status).toBe(401);
});

test.each<[body: unknown, message: string]>([
  [{}, "url: is required"],
  [{ url: 5 }, "url: must be of type string"],
  [{ url: "" }, "url: must be a public https URL: a host on the internet, the default port, no user name"],
  [{ url: "ftp://hooks.example.com/" }, "url: must be a public https URL: a host on the internet, the default port, no user name"],
  [{ url: "http://hooks.example.com/" }, "url: must be a public https URL: a host on the internet, the default port, no user name"],
  [
    { url: "https://user:secret@hooks.example.com/" },
    "url: must be a public https URL: a host on the internet, the default port, no user name",
  ],
  [
    { url: `https://hooks.example.com/${"a".repeat(9_000)}` },
    "url: must be a public https URL: a host on the internet, the default port, no user name",
  ],
])("the endpoint %j is refused, and the previous one stays", async (body, message) => {
  const account = await newAccount();
  await setEndpoint(account, hook);
  const answer = await call("/v1/webhook", { key: account.key, method: "PUT", body });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: "invalid_request", param: "url", message } } });
  expect((await call("/v1/webhook", { key: account.key })).body).toEqual({ url: hook });
});

test("private addresses are refused as endpoints unless the operator allows them; the gateway's own address is always refused", async () => {
  const { key } = await newAccount();
  const put = (url: string, allow: string) =>
    call("/v1/webhook", { key, method: "PUT", body: { url }, vars: { ALLOW_PRIVATE_NETWORK: allow } });
  for (const url of ["https://10.0.0.1/", "http://127.0.0.1:9000/", "https://gateway.example/v1/webhook"])
    expect((await put(url, "off")).status, url).toBe(400);
  expect((await put("http://127.0.0.1:9000/", "on")).status).toBe(200);
});

test("the secret is created once, is 32 bytes in Base64, and its answer is not cacheable", async () => {
  const account = await newAccount();
  const answers = await Promise.all(Array.from({ length: 5 }, () => call("/v1/webhook_secret", { key: account.key })));
  const secrets = new Set(answers.map(({ body }) => body.secret as string));
  expect(secrets.size).toBe(1);
  const [secret] = secrets;
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(answers[0]!.headers.get("cache-control")).toBe("no-store");
  await setEndpoint(account, hook);
  expect(await readSecret(account)).toBe(secret);
});

test("a rotation that is repeated with its idempotency key answers the same secret and ends none, for a day", async () => {
  const account = await newAccount();
  const first = await readSecret(account);
  const rotate = async (key?: string) =>
    (await call("/v1/webhook_secret", { key: account.key, method: "POST", ...(key && { headers: { "idempotency-key": key } }) })).body
      .secret as string;
  const answers = await Promise.all(Array.from({ length: 4 }, () => rotate("spring")));
  const [second = ""] = answers;
  expect(new Set([...answers, await rotate("spring"), await readSecret(account)])).toEqual(new Set([second]));
  expect(second).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(second).not.toBe(first);
  expect((await readWebhook(env, account.id)).oldSecret).toBe(first);
  const acts = "SELECT count(*) AS n FROM audit_log WHERE account_id = ?1 AND act = 'webhook_secret_rotated'";
  expect(await env.DB.prepare(acts).bind(account.id).first("n")).toBe(1);
  // A leaked secret is stopped at once by two rotations, as before.
  const third = await rotate();
  expect(await readWebhook(env, account.id)).toMatchObject({ secret: third, oldSecret: second });
  const fourth = await rotate("spring");
  expect(new Set([first, second, third, fourth]).size).toBe(4);
  vi.setSystemTime(Date.now() + 86_400_000);
  const fifth = await rotate("spring");
  expect(await readWebhook(env, account.id)).toMatchObject({ secret: fifth, oldSecret: fourth });
});

test("the first rotation of an account is repeatable too, and a bad idempotency key is refused", async () => {
  const account = await newAccount();
  const rotate = (key: string) => call("/v1/webhook_secret", { key: account.key, method: "POST", headers: { "idempotency-key": key } });
  const answers = [...(await Promise.all(["first", "first"].map(rotate))), await rotate("first")].map(({ body }) => body.secret as string);
  expect(new Set(answers)).toEqual(new Set([await readSecret(account)]));
  for (const bad of ["", "x".repeat(256)])
    expect(await rotate(bad)).toMatchObject({ status: 400, body: { error: { param: "Idempotency-Key" } } });
  expect(await readSecret(account)).toBe(answers[0]);
});

test("a secret that is replaced while secrets are sealed again stays replaced", async () => {
  const account = await newAccount();
  const first = await readSecret(account);
  const database = bindings.database();
  const original = database["batch"]!;
  let second = "";
  vi.spyOn(database, "batch").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    second = (await call("/v1/webhook_secret", { key: account.key, method: "POST" })).body.secret as string;
    return original.apply(this, values);
  });
  const rotated = { DB: env.DB, SEALING_KEY: "another secret", SEALING_KEY_OLD: env.SEALING_KEY };
  await sealSecrets(rotated, account.id.slice(0, -1), 1);
  expect(await readWebhook(env, account.id)).toMatchObject({ secret: second, oldSecret: first });
});

test("a test event is signed and sent at once, and the answer contains its outcome", async () => {
  const account = await newAccount();
  await setEndpoint(account, hook);
  const received = receivers({ [hook]: ok });
  const answer = await call("/v1/webhook/test", { key: account.key, method: "POST" });
  const at = Math.floor(Date.now() / 1000);
  expect(answer).toMatchObject({ status: 200, body: { object: "webhook.test", url: hook, delivered: true, status: 204, ms: 0, at } });
  const [{ body, headers }] = received as [(typeof received)[0]];
  testEvent.parse(new Webhook(await readSecret(account)).verify(body, headers));
  expect(headers["webhook-id"]).toMatch(/^evt_test_/);
});

test("a test event that fails states the reason", async () => {
  const account = await newAccount();
  const send = () => call("/v1/webhook/test", { key: account.key, method: "POST" });
  expect(await send()).toMatchObject({ status: 404, body: { error: { code: "webhook_not_found" } } });
  await setEndpoint(account, hook);
  receivers({ [hook]: () => new Response("no", { status: 401 }) });
  expect((await send()).body).toMatchObject({ delivered: false, status: 401 });
  vi.restoreAllMocks();
  hurryTimeouts();
  receivers({ [hook]: hangs });
  expect((await send()).body).toMatchObject({ delivered: false, fault: "timeout" });
});

test("other methods and paths are refused", async () => {
  const { key } = await newAccount();
  const allowed = async (path: string, method: string) => {
    const { status, headers } = await call(path, { key, method });
    return [status, headers.get("allow")];
  };
  expect(await allowed("/v1/webhook", "DELETE")).toEqual([405, "GET, HEAD, PUT"]);
  expect(await allowed("/v1/webhook/test", "GET")).toEqual([405, "POST"]);
  expect(await allowed("/v1/webhook_secret", "PUT")).toEqual([405, "GET, HEAD, POST"]);
  expect(await allowed("/v1/webhook/other", "GET")).toEqual([404, null]);
});

test("an account changes its webhook and destinations 120 times an hour: each change is kept in the audit log for a year", async () => {
  const account = await newAccount();
  const { key } = account;
  const vars = { RATE_LIMITS: "on" };
  const change = (of = key) => call("/v1/webhook", { key: of, method: "PUT", body: { url: null }, vars });
  const row = "INSERT INTO audit_log (account_id, at, id, act, actor) SELECT ?1, ?2 + value, 'aud_' || value, ?3, 'key' FROM json_each(?4)";
  const numbers = JSON.stringify(Array.from({ length: 119 }, (_, at) => at));
  const add = (act: string) =>
    env.DB.prepare(row)
      .bind(account.id, Date.now() - 1_800_000, act, numbers)
      .run();
  await add("destination_set");
  expect((await change()).status).toBe(200);
  const refused = [await change(), await call("/v1/webhook_secret", { key, method: "POST", vars })];
  for (const { status, body, headers } of refused)
    expect([status, body.error.code, headers.get("retry-after")]).toEqual([429, "rate_limit_exceeded", "1800"]);
  expect((await call("/v1/webhook", { key, vars })).status).toBe(200);
  expect((await change((await newAccount()).key)).status).toBe(200);
  vi.setSystemTime(Date.now() + 1_801_000);
  expect((await change()).status).toBe(200);
});
