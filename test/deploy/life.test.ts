/** The life of a deployment, in order: plan, first deployment, second, upgrade with a migration, a second environment, destruction. */

import { existsSync } from "node:fs";
import { appendFile, copyFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accountId, token } from "./account.ts";
import { type Cloud, startCloud } from "./cloud.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

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
  "gateway-marks",
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
    "create the Worker gateway, with ASSET_SIGNING_SECRET, SEALING_KEY, ADMIN_TOKEN, and RECEIPT_SIGNING_KEY made at random",
    "make a test image with the account deployment-check@gateway.invalid, without the admin role; its key is deleted afterwards",
    "create the first account, operator@example.com, with its key, the admin role and a balance of 100",
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
  expect([...account.databases.values()]).toMatchObject([
    { name: "gateway", location: "weur", jurisdiction: undefined, replication: "auto" },
  ]);
  const bucket = account.buckets.get("gateway-assets")!;
  expect(bucket.location).toBe("weur");
  expect(bucket.rules).toEqual(
    (
      [
        ["assets", "2-days", 2],
        ["inputs", "one-day", 1],
        ["files", "8-days", 8],
        ["changes", "90-days", 90],
      ] as const
    ).map(([prefix, id, days]) => ({
      id: `${id}-${prefix}`,
      enabled: true,
      conditions: { prefix: `${prefix}/` },
      deleteObjectsTransition: { condition: { type: "Age", maxAge: days * 86_400 } },
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
    ["gateway-marks", [], false],
    ["gateway-operations", [], false],
    ["gateway", ["ADMIN_TOKEN", "ASSET_SIGNING_SECRET", "RECEIPT_SIGNING_KEY", "SEALING_KEY"], true],
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
  // The plan names both accounts; the test image is made without the admin role.
  expect(await cloud.runtime.query(id, "SELECT email, admin FROM account ORDER BY admin")).toMatchObject([
    {
      results: [
        { email: "deployment-check@gateway.invalid", admin: 0 },
        { email: "operator@example.com", admin: 1 },
      ],
    },
  ]);
  // One of the two keys that were created is left: the smoke test's key is deleted.
  expect(await cloud.runtime.query(id, "SELECT name FROM api_key WHERE deleted_at IS NULL")).toMatchObject([
    { results: [{ name: "first key" }] },
  ]);
});

test("secrets are in no log and no output, and the operator's token is in a file that only the operator can read", async () => {
  const { output } = await cloud.npm("deploy", ["--dry-run"]);
  const logs = await cloud.logs();
  expect(secrets()).toHaveLength(5);
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

test("the second deployment changes only versions and waits for the new one; another member of the team gets no account by it", async () => {
  const before = cloud.account.snapshot();
  cloud.account.settings.email = "colleague@example.com";
  const old = cloud.account.workers.get("gateway")!.deployed;
  const waits: string[] = [];
  cloud.intercept.current = (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/readyz") waits.push(pathname);
    else expect(waits).toHaveLength(3);
    // Other locations still answer from the version before.
    return pathname === "/readyz" && waits.length < 3 ? Response.json({ status: "ok", version: old }) : undefined;
  };
  const versions = [...cloud.account.workers.values()].map(({ versions: list }) => list.length);
  cloud.api.calls.length = 0;
  const { code, output } = await cloud.npm("deploy", ["--yes"]);
  cloud.intercept.current = () => undefined;
  cloud.account.settings.email = "operator@example.com";
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is up at")]);
  expect(waits).toHaveLength(3);
  expect(cloud.account.snapshot()).toEqual(before);
  for (const name of ["gateway-sandbox", "gateway-openai", "gateway"])
    expect(cloud.account.workers.get(name)!.updateStrategy).toEqual({ mode: "deferred", max_delay: 300 });
  const [id = ""] = cloud.account.databases.keys();
  expect(await cloud.runtime.query(id, "SELECT email FROM account WHERE email LIKE '%@example.com'")).toMatchObject([
    { results: [{ email: "operator@example.com" }] },
  ]);
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
  const migration = `-- It's a comment; with a quote.
CREATE TABLE added (id INTEGER PRIMARY KEY) STRICT;\r
CREATE TRIGGER added_one AFTER INSERT ON added BEGIN\r
  UPDATE wallet SET used = used WHERE id = NEW.id;\r
END;
-- step while SELECT 1 WHERE (SELECT count(*) FROM added) < 2
INSERT INTO added DEFAULT VALUES;
`;
  await writeFile(join(cloud.checkout, "migrations/9000_test.sql"), migration);
  // This release adds a class of objects.
  await appendFile(join(cloud.checkout, "wrangler.toml"), '\n[[migrations]]\ntag = "v9000"\nnew_sqlite_classes = ["AddedObject"]\n');
  await appendFile(
    join(cloud.checkout, "src/worker.ts"),
    '\nexport { TokenObject as AddedObject } from "./tasks/object/token-object.ts";\n',
  );
  // The bucket has the rules of a release whose results lived for another time, and one of the operator.
  const bucket = cloud.account.buckets.get("gateway-assets")!;
  const wanted = bucket.rules;
  const own = { id: "30-days-exports", enabled: true, conditions: { prefix: "exports/" } };
  bucket.rules = [own, { id: "one-day-assets", enabled: true, conditions: { prefix: "assets/" } }];
  cloud.api.calls.length = 0;
  const { code, output } = await cloud.npm("deploy", ["--yes"], cloud.proxied);
  expect([code, output]).toEqual([0, expect.stringContaining("apply the migration 9000_test.sql to gateway")]);
  expect(output).toContain("add AddedObject to gateway: earlier releases cannot be deployed after that (roll forward only)");
  expect(cloud.account.workers.get("gateway")!.classes).toContain("AddedObject");
  expect(existsSync(left)).toBe(false);
  expect(bucket.rules).toEqual([own, ...wanted]);
  expect(cloud.front.hosts.filter((host) => host === "api.cloudflare.test:443").length).toBeGreaterThan(10);
  const [id = ""] = cloud.account.databases.keys();
  expect(await cloud.runtime.query(id, "SELECT count(*) AS applied FROM d1_migrations WHERE name = '9000_test.sql'")).toMatchObject([
    { results: [{ applied: 1 }] },
  ]);
  const firstUpload = cloud.api.calls.findIndex((call) => /^(PUT|POST) \/workers\/scripts/.test(call));
  expect(cloud.api.calls.slice(0, firstUpload).filter((call) => call.endsWith("/import"))).toHaveLength(8);
  expect(cloud.api.calls.slice(firstUpload).filter((call) => call.endsWith("/import"))).toEqual([]);
});

test("the release before one that added a class is refused with the reason before anything is changed", async () => {
  for (const file of ["wrangler.toml", "src/worker.ts"]) await copyFile(join(root, file), join(cloud.checkout, file));
  const before = cloud.account.snapshot();
  cloud.api.calls.length = 0;
  const { code, output } = await cloud.npm("deploy", ["--yes"]);
  expect([code, output]).toEqual([
    1,
    expect.stringContaining("There is no way back over it: roll forward only.\n→ Check out that release or a newer one"),
  ]);
  expect(writes(cloud.api.calls)).toEqual([]);
  // What the platform would answer: wrangler sends all migrations again if it does not know the Worker's tag.
  const form = new FormData();
  const migrations = { old_tag: "v9000", new_tag: "v3", steps: [{ new_sqlite_classes: ["TaskObject"] }] };
  form.set("metadata", JSON.stringify({ main_module: "worker.js", migrations }));
  const url = `${cloud.api.url}/accounts/${accountId}/workers/scripts/gateway`;
  const refused = await fetch(url, { method: "PUT", headers: { authorization: `Bearer ${token}` }, body: form });
  expect(await refused.json()).toMatchObject({ success: false, errors: [{ code: 10_074 }] });
  expect(cloud.account.snapshot()).toEqual(before);
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
  expect(new Set(secrets()).size).toBe(10);
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
