/** `/v1/destinations`: an account's buckets, whose secrets are sealed and never shown. Contract 17. */

import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { openDestination, sealDestinations } from "../../../src/db/destinations.ts";
import { accessKeyId, buckets, hurryAttempts, type Mode, origin, secretAccessKey, setDestination } from "../../support/bucket.ts";
import { bindings } from "../../support/faults.ts";
import { type Account, call, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

const read = async ({ key }: Account, name = "shop") => call(`/v1/destinations/${name}`, { key });
const list = async ({ key }: Account) => (await call("/v1/destinations", { key })).body;
const tryIt = async ({ key }: Account, vars: Partial<Env> = {}) => call("/v1/destinations/shop/test", { key, method: "POST", vars });

test("a destination is created, shown without its secret, replaced, listed by name and deleted", async () => {
  const account = await newAccount();
  const shown = {
    object: "destination",
    name: "shop",
    kind: "s3",
    endpoint: origin,
    bucket: "media",
    region: "eu-central-1",
    access_key_id: accessKeyId,
    created_at: Math.floor(Date.now() / 1000),
    changed_at: Math.floor(Date.now() / 1000),
  };
  expect(await setDestination(account)).toMatchObject({ status: 200, body: shown });
  expect((await read(account)).body).toEqual(shown);
  vi.setSystemTime(Date.now() + 60_000);
  const changed = { ...shown, bucket: "other-media", prefix: "a/", changed_at: shown.created_at + 60 };
  expect((await setDestination(account, { endpoint: `${origin}/`, bucket: "other-media", prefix: "a/" })).body).toEqual(changed);
  await setDestination(account, {}, "archive");
  expect(await list(account)).toMatchObject({
    object: "list",
    data: [{ name: "archive" }, { name: "shop", prefix: "a/" }],
    has_more: false,
  });
  expect(JSON.stringify(await list(account))).not.toContain("wJalr");
  const remove = () => call("/v1/destinations/shop", { key: account.key, method: "DELETE" });
  expect((await remove()).status).toBe(204);
  expect(await remove()).toMatchObject({ status: 404, body: { error: { code: "destination_not_found" } } });
  expect((await read(account)).status).toBe(404);
  expect((await read(account, "No/name%20")).status).toBe(404);
});

test("D1 has the secret sealed; it opens for its own account only", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  await setDestination(account);
  const row = () => env.DB.prepare("SELECT secret FROM destination WHERE account_id = ?1").bind(account.id).first<string>("secret");
  expect(await row()).toMatch(/^sealed:[0-9a-f]{8}:/);
  expect((await openDestination(env, account.id, "shop"))?.secret).toBe(secretAccessKey);
  await env.DB.prepare("UPDATE destination SET account_id = ?2 WHERE account_id = ?1").bind(account.id, other.id).run();
  await expect(openDestination(env, other.id, "shop")).rejects.toThrow();
});

test("after a rotation of SEALING_KEY secrets are sealed again, and open without the old value", async () => {
  const accounts = [await newAccount(), await newAccount()];
  for (const account of accounts) for (const name of ["shop", "archive"]) await setDestination(account, {}, name);
  const [first, second] = accounts.map(({ id }) => id).sort();
  const rotated = { DB: env.DB, SEALING_KEY: "another secret", SEALING_KEY_OLD: env.SEALING_KEY };
  const alone = { DB: env.DB, SEALING_KEY: "another secret" };
  await sealDestinations(alone, "", undefined); // it cannot open them, so they stay as they are
  // Those of the accounts up to the first one.
  await sealDestinations(rotated, "", first);
  expect((await openDestination(alone, first!, "shop"))?.secret).toBe(secretAccessKey);
  await expect(openDestination(alone, second!, "shop")).rejects.toThrow("another SEALING_KEY");
  await sealDestinations(rotated, first!, undefined);
  for (const id of [first!, second!])
    for (const name of ["shop", "archive"]) expect((await openDestination(alone, id, name))?.secret).toBe(secretAccessKey);
  const back = { DB: env.DB, SEALING_KEY: env.SEALING_KEY, SEALING_KEY_OLD: "another secret" };
  await sealDestinations(back, "", undefined);
});

test("a destination that is replaced while secrets are sealed again keeps its new secret", async () => {
  const account = await newAccount();
  await setDestination(account);
  const database = bindings.database();
  const original = database["batch"]!;
  vi.spyOn(database, "batch").mockImplementationOnce(async function (this: unknown, ...values: unknown[]) {
    await setDestination(account, { secret_access_key: "a-newer-secret" });
    return original.apply(this, values);
  });
  const rotated = { DB: env.DB, SEALING_KEY: "another secret", SEALING_KEY_OLD: env.SEALING_KEY };
  await sealDestinations(rotated, account.id.slice(0, -1), account.id);
  expect((await openDestination(env, account.id, "shop"))?.secret).toBe("a-newer-secret");
});

test("destinations belong to their account", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  await setDestination(account);
  expect((await read(other)).status).toBe(404);
  expect((await call("/v1/destinations/shop", { key: other.key, method: "DELETE" })).status).toBe(404);
  expect((await tryIt(other)).status).toBe(404);
  expect((await list(other)).data).toEqual([]);
});

test("an account has at most 20 destinations; one of them can be replaced", async () => {
  const account = await newAccount();
  for (let n = 0; n < 20; n++) expect((await setDestination(account, {}, `d${n}`)).status).toBe(200);
  expect(await setDestination(account, {}, "more")).toMatchObject({ status: 409, body: { error: { code: "too_many_destinations" } } });
  expect((await setDestination(account, { bucket: "new-bucket" }, "d7")).status).toBe(200);
  expect((await list(account)).data).toHaveLength(20);
});

test("the limit holds for destinations that are created at the same moment, and only those are logged", async () => {
  const account = await newAccount();
  for (let n = 0; n < 18; n++) expect((await setDestination(account, {}, `d${n}`)).status).toBe(200);
  const made = await Promise.all(Array.from({ length: 6 }, (_, n) => setDestination(account, {}, `p${n}`)));
  expect(made.filter(({ status }) => status === 200)).toHaveLength(2);
  expect(made.filter(({ status }) => status === 409)).toHaveLength(4);
  expect((await list(account)).data).toHaveLength(20);
  const count = "SELECT count(*) AS n FROM audit_log WHERE account_id = ?1 AND act = 'destination_set'";
  expect(await env.DB.prepare(count).bind(account.id).first("n")).toBe(20);
});

test.each<[object, string]>([
  [{ kind: "ftp" }, "kind"],
  [{ endpoint: "http://s3.example.com" }, "endpoint"],
  [{ endpoint: "https://s3.example.com/path" }, "endpoint"],
  [{ endpoint: "https://s3.example.com/?x=1" }, "endpoint"],
  [{ endpoint: "https://user@s3.example.com" }, "endpoint"],
  [{ endpoint: "s3.example.com" }, "endpoint"],
  [{ bucket: "a/../b" }, "bucket"],
  [{ bucket: "UPPER" }, "bucket"],
  [{ bucket: "a" }, "bucket"],
  [{ region: "eu central" }, "region"],
  [{ region: undefined }, "region"],
  [{ access_key_id: "" }, "access_key_id"],
  [{ access_key_id: "a\nb" }, "access_key_id"],
  [{ secret_access_key: undefined }, "secret_access_key"],
  [{ secret_access_key: "x".repeat(1025) }, "secret_access_key"],
  [{ prefix: "/a" }, "prefix"],
  [{ prefix: "a//b" }, "prefix"],
  [{ prefix: "../a" }, "prefix"],
])("%j is refused", async (change, param) => {
  const account = await newAccount();
  const answer = await setDestination(account, change);
  expect([answer.status, answer.body.error.param]).toEqual([400, param]);
  // The message says what is allowed.
  expect(answer.body.error.message).toMatch(/: (?:must be|is required)/);
  expect((await list(account)).data).toEqual([]);
});

test.each(["Shop", "-shop", "a".repeat(64), "a.b"])("the name %s is refused", async (name) => {
  expect((await setDestination(await newAccount(), {}, name)).body.error.param).toBe("name");
});

test.each(["https://10.0.0.1", "https://[fd00::1]", "https://minio.internal", "https://gateway.example", "https://s3.example.com:9000"])(
  "the endpoint %s is refused where private addresses are not allowed, and a stored one is not called",
  async (endpoint) => {
    const account = await newAccount();
    const { at } = buckets([new URL(endpoint).origin]);
    const body = { kind: "s3", endpoint, bucket: "media", region: "auto", access_key_id: "a", secret_access_key: "b" };
    const vars = { ALLOW_PRIVATE_NETWORK: "off" };
    const refused = await call("/v1/destinations/shop", { key: account.key, method: "PUT", body, vars });
    expect([refused.status, refused.body.error.param]).toEqual([400, "endpoint"]);
    expect((await setDestination(account, { endpoint })).status).toBe(200);
    expect((await tryIt(account, vars)).body).toMatchObject({ ok: false, write: { fault: "blocked_url" } });
    expect(at[new URL(endpoint).origin]!.requests).toEqual([]);
  },
);

test("a test writes, reads and deletes a small object under the prefix", async () => {
  const account = await newAccount();
  await setDestination(account, { prefix: "made/" });
  const { at } = buckets([origin]);
  const { status, body } = await tryIt(account);
  expect(status).toBe(200);
  const done = { ms: expect.any(Number) as number };
  expect(body).toEqual({
    object: "destination.test",
    name: "shop",
    ok: true,
    write: { ...done, status: 200 },
    read: { ...done, status: 200 },
    delete: { ...done, status: 204 },
  });
  const { requests, objects } = at[origin]!;
  expect(requests.map((request) => request.replace(/gateway-test-\w+/, "*"))).toEqual([
    "PUT made/*.txt",
    "GET made/*.txt",
    "DELETE made/*.txt",
  ]);
  expect(objects.size).toBe(0);
});

test.each<[Mode, object, number]>([
  ["dead", { write: { fault: "unreachable" } }, 2],
  ["hangs", { write: { fault: "timeout" } }, 2],
  ["forbidden", { write: { status: 403, code: "AccessDenied" } }, 1],
  ["full", { write: { status: 507, code: "XMinioStorageFull" } }, 1],
  ["write_only", { write: { status: 200 }, read: { status: 403 }, delete: { status: 403 } }, 3],
  ["changes", { write: { status: 200 }, read: { status: 200, fault: "changed" }, delete: { status: 204 } }, 3],
  ["loses", { write: { status: 200 }, read: { status: 404, code: "NoSuchKey" } }, 3],
])("a test of a bucket that %s fails, and says how", async (mode, outcome, requests) => {
  const account = await newAccount();
  await setDestination(account);
  const { at } = buckets([origin]);
  at[origin]!.mode = mode;
  hurryAttempts();
  const { status, body } = await tryIt(account);
  expect([status, body.ok]).toEqual([200, false]);
  expect(body).toMatchObject(outcome);
  expect(at[origin]!.requests).toHaveLength(requests);
});

test("a wrong secret is found by the test", async () => {
  const account = await newAccount();
  await setDestination(account, { secret_access_key: "wrong" });
  buckets([origin]);
  expect((await tryIt(account)).body).toMatchObject({ ok: false, write: { status: 403, code: "SignatureDoesNotMatch" } });
});
