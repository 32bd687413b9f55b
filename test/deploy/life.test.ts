/** The life of a deployment, in order: plan, first deployment, second, upgrade with a migration, a second environment, destruction. */

import { existsSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud();
});
afterAll(() => cloud.stop());

const gatewayParts = [
  "gateway",
  "gateway",
  "gateway-assets",
  "gateway-auth",
  "gateway-console",
  "gateway-dead",
  "gateway-dispatch",
  "gateway-mcp",
  "gateway-notify",
  "gateway-openai",
  "gateway-operations",
  "gateway-sandbox",
  "gateway-starts",
];
const writes = (calls: string[]) => calls.filter((call) => !call.startsWith("GET ") && !call.endsWith("/query"));
const unknownCalls = () => cloud.api.calls.filter((call) => call.startsWith("!!"));
/** Every secret of the account, and the operator's credentials. */
const secrets = () => [...cloud.account.workers.values()].flatMap((worker) => [...worker.secrets.values()]);

test("a dry run prints the plan and writes nothing, neither remotely nor locally", async () => {
  const { code, output } = await cloud.npm("deploy", ["--dry-run", "--region", "weur"]);
  expect([code, output]).toEqual([0, expect.stringContaining("create the database gateway in weur")]);
  for (const line of [
    "create the bucket gateway-assets in weur",
    "switch on the read replicas of gateway",
    "set the lifecycle rules of gateway-assets",
    "create the queue gateway-dispatch",
    "create the queue gateway-dead",
    "create the Worker gateway, with ASSET_SIGNING_SECRET, ADMIN_TOKEN, and RECEIPT_SIGNING_KEY made at random",
    "create the first account, operator@example.com, with its key",
  ])
    expect(output).toContain(line);
  expect(writes(cloud.api.calls)).toEqual([]);
  expect(cloud.account.names()).toEqual([]);
  expect(existsSync(join(cloud.checkout, ".deploy"))).toBe(false);
});

test("the first deployment creates all resources, generates an image with the sandbox, and prints what the operator needs", async () => {
  const { code, output } = await cloud.npm("deploy", ["--yes", "--region", "weur"], { FAL_KEY: "" });
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is up at https://gateway.acme.workers.dev")]);
  expect(unknownCalls()).toEqual([]);
  const { account } = cloud;
  expect(account.names()).toEqual(gatewayParts);
  expect([...account.databases.values()]).toEqual([{ name: "gateway", location: "weur", jurisdiction: undefined, replication: "auto" }]);
  const bucket = account.buckets.get("gateway-assets")!;
  expect(bucket.location).toBe("weur");
  expect(bucket.rules).toEqual(
    ["assets", "inputs"].map((prefix) => ({
      id: `one-day-${prefix}`,
      enabled: true,
      conditions: { prefix: `${prefix}/` },
      deleteObjectsTransition: { condition: { type: "Age", maxAge: 86_400 } },
    })),
  );
  expect(Object.fromEntries([...account.queues].map(([name, { consumers }]) => [name, consumers.map(({ script }) => script)]))).toEqual({
    "gateway-dispatch": ["gateway"],
    "gateway-starts": ["gateway"],
    "gateway-notify": ["gateway"],
    "gateway-dead": ["gateway"],
  });
  expect([...account.workers].map(([name, { secrets: own, hasSubdomain }]) => [name, [...own.keys()].sort(), hasSubdomain])).toEqual([
    ["gateway-sandbox", [], false],
    ["gateway-auth", [], false],
    ["gateway-console", ["AUTH_SECRET"], false],
    ["gateway-openai", [], false],
    ["gateway-mcp", [], false],
    ["gateway-operations", [], false],
    ["gateway", ["ADMIN_TOKEN", "ASSET_SIGNING_SECRET", "RECEIPT_SIGNING_KEY"], true],
  ]);
  // No version answered at any moment without its secrets, and none has an address of its own.
  expect(account.deployments.map(({ worker, secrets: own }) => [worker, own])).toEqual(
    [...account.workers].map(([name, { secrets: own }]) => [name, [...own.keys()].sort()]),
  );
  expect([...account.workers.values()].filter(({ hasPreviews }) => hasPreviews)).toEqual([]);
  // Neither ids nor anything else is written into the checkout: another team deploys the same files.
  expect(await cloud.changed()).toEqual([]);
  // The sandbox's image passed through the queue, the objects and the bucket, at the printed address.
  expect(output).toMatch(/smoke test: \S+ made an image of \d+ KB/);
  expect(output).toContain("the sandbox will serve every model");
  expect(output).toContain("Idle it costs nothing beyond the 5 USD a month of Workers Paid");
  const [id = ""] = account.databases.keys();
  const key = /^API_KEY=(sk-\w+)$/m.exec(output)?.[1] ?? "";
  const invitation = /(https:\/\/gateway\.acme\.workers\.dev\/console\/sign-up\?invitation=\S+)/.exec(output)?.[1] ?? "";
  const balance = await cloud.runtime.fetch(
    "gateway",
    new Request("https://gateway.acme.workers.dev/v1/user/balance", { headers: { authorization: `Bearer ${key}` } }),
  );
  expect([balance.status, await balance.json()]).toEqual([200, expect.objectContaining({ unlimited_quota: false })]);
  expect((await cloud.runtime.fetch("gateway", new Request(invitation))).status).toBe(200);
  expect(await cloud.runtime.query(id, "SELECT email, admin FROM account")).toMatchObject([
    { results: [{ email: "operator@example.com", admin: 1 }] },
  ]);
  // One of the two keys that were created is left: the smoke test's key is deleted.
  expect(await cloud.runtime.query(id, "SELECT name FROM api_key WHERE deleted_at IS NULL")).toMatchObject([
    { results: [{ name: "first key" }] },
  ]);
});

test("secrets are in no log and no output, and the operator's token is in a file that only the operator can read", async () => {
  const { output } = await cloud.npm("deploy", ["--dry-run"]);
  const logs = await cloud.logs();
  expect(secrets()).toHaveLength(4);
  for (const secret of secrets()) {
    expect(logs).not.toContain(secret);
    expect(output).not.toContain(secret);
  }
  expect(logs).toContain("$ wrangler deploy -c");
  expect(logs).not.toMatch(/sk-\w{40}|invitation=\w/);
  const tokenFile = join(cloud.checkout, ".deploy/gateway/admin-token");
  expect((await readFile(tokenFile, "utf8")).trim()).toBe(cloud.account.workers.get("gateway")!.secrets.get("ADMIN_TOKEN"));
  expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);
  expect(existsSync(join(cloud.checkout, ".deploy/gateway/gateway-secrets.json"))).toBe(false);
});

test("the second deployment changes only versions", async () => {
  const before = cloud.account.snapshot();
  const versions = [...cloud.account.workers.values()].map(({ versions: list }) => list.length);
  cloud.api.calls.length = 0;
  const { code, output } = await cloud.npm("deploy", ["--yes"]);
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is up at")]);
  expect(cloud.account.snapshot()).toEqual(before);
  expect([...cloud.account.workers.values()].map(({ versions: list }) => list.length)).toEqual(versions.map((count) => count + 1));
  const changed = new Set(writes(cloud.api.calls).map((call) => call.replace(/scripts\/[^/]+/, "scripts/*")));
  expect(
    [...changed].filter(
      (call) => !/scripts\/\*(\/(versions|deployments|script-settings|schedules|subdomain))?$|queues\/\w+\/consumers/.test(call),
    ),
  ).toEqual([]);
  for (const done of ["API_KEY=", "invitation=", "read replicas", "first account"]) expect(output).not.toContain(done);
  expect(output).toContain("made an image");
});

test("an upgrade applies only the new migration, before any new code; all calls through a proxy with the system's certificates", async () => {
  // A killed run leaves such a file.
  const left = join(cloud.checkout, ".deploy/gateway/console-secrets.json");
  await writeFile(left, "{}");
  await writeFile(join(cloud.checkout, "migrations/9000_test.sql"), "CREATE TABLE added (id INTEGER PRIMARY KEY) STRICT;\n");
  cloud.api.calls.length = 0;
  const { code, output } = await cloud.npm("deploy", ["--yes"], cloud.proxied);
  expect([code, output]).toEqual([0, expect.stringContaining("apply the migration 9000_test.sql to gateway")]);
  expect(existsSync(left)).toBe(false);
  expect(cloud.front.hosts.filter((host) => host === "api.cloudflare.test:443").length).toBeGreaterThan(10);
  const [id = ""] = cloud.account.databases.keys();
  expect(await cloud.runtime.query(id, "SELECT count(*) AS applied FROM d1_migrations WHERE name = '9000_test.sql'")).toMatchObject([
    { results: [{ applied: 1 }] },
  ]);
  const firstUpload = cloud.api.calls.findIndex((call) => /^(PUT|POST) \/workers\/scripts/.test(call));
  expect(cloud.api.calls.slice(firstUpload).filter((call) => call.endsWith("/query"))).toEqual([]);
});

test("a second environment shares nothing with the first", async () => {
  const before = cloud.account.snapshot() as { workers: unknown[] };
  const { code, output } = await cloud.npm("deploy", ["--yes", "--env", "staging"]);
  expect([code, output]).toEqual([0, expect.stringContaining("https://gateway-staging.acme.workers.dev")]);
  const staging = gatewayParts.map((name) => `${name}-staging`);
  expect(cloud.account.names()).toEqual([...gatewayParts, ...staging].sort());
  const after = cloud.account.snapshot() as { workers: unknown[] };
  expect(after.workers.slice(0, before.workers.length)).toEqual(before.workers);
  const bound = (name: string) => JSON.stringify(cloud.account.versionOf(name)!.bindings);
  expect(bound("gateway-staging")).toContain('"gateway-sandbox-staging"');
  const ofFirst = [...cloud.account.databases].filter(([, { name }]) => name === "gateway").map(([id]) => id);
  for (const name of ofFirst) expect(bound("gateway-staging")).not.toContain(name);
  const counters = (name: string) =>
    cloud.account
      .versionOf(name)!
      .bindings.filter(({ type }) => type === "ratelimit")
      .map(({ namespace_id: id }) => id);
  expect(counters("gateway-staging").filter((id) => counters("gateway").includes(id))).toEqual([]);
  expect(new Set(secrets()).size).toBe(8);
});

test("destroy needs the environment's name, deletes that environment with its data last, and leaves the other", async () => {
  const wrong = await cloud.npm("destroy", ["--yes", "staging"]);
  expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('"staging" is not gateway: nothing was deleted.')]);
  const silent = await cloud.npm("destroy", []);
  expect([silent.code, silent.output]).toEqual([1, expect.stringContaining("npm run destroy -- --yes gateway")]);
  expect(cloud.account.names()).toHaveLength(2 * gatewayParts.length);

  cloud.account.buckets.get("gateway-assets")!.files.set("assets/task_1/a picture.png", "").set("characters/ch_1", "");
  await writeFile(join(cloud.checkout, ".deploy/gateway.env"), "");
  cloud.api.calls.length = 0;
  let throttled = 0;
  cloud.api.fault.current = (call) => (call.includes("/objects/") && throttled++ === 0 ? "throttled" : undefined);
  const { code, output } = await cloud.npm("destroy", ["--yes", "gateway"]);
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is gone")]);
  expect(output).toContain("except for your file .deploy/gateway.env");
  expect(output).toContain("  - queues: gateway-dispatch, gateway-starts, gateway-notify, gateway-dead\n  - buckets: gateway-assets\n");
  expect(throttled).toBe(3);
  expect(cloud.account.names()).toEqual(gatewayParts.map((name) => `${name}-staging`).sort());
  const deleted = cloud.api.calls.filter((call) => call.startsWith("DELETE ")).map((call) => call.split("/")[1]);
  // A Worker that still consumes a queue cannot be deleted.
  expect(deleted.filter((kind, at) => kind !== deleted[at - 1])).toEqual(["queues", "workers", "queues", "r2", "d1"]);
  expect(existsSync(join(cloud.checkout, ".deploy/gateway"))).toBe(false);
  expect(existsSync(join(cloud.checkout, ".deploy/gateway-staging/state.json"))).toBe(true);
  expect(unknownCalls()).toEqual([]);

  const again = await cloud.npm("destroy", ["--yes", "gateway"]);
  expect([again.code, again.output]).toEqual([0, expect.stringContaining("There is nothing of gateway on Acme.")]);
});

test("a deployment whose resources were deleted elsewhere gets a first account again", async () => {
  for (const kind of ["databases", "buckets", "queues", "workers"] as const) cloud.account[kind].clear();
  const { code, output } = await cloud.npm("deploy", ["--dry-run", "--env", "staging"]);
  expect([code, output]).toEqual([0, expect.stringContaining("create the first account, operator@example.com")]);
});
