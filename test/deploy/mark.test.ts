/** Resources of the deployment's names that this project did not make are neither taken over nor deleted without the name being typed. */

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud();
});
beforeEach(() => {
  for (const kind of ["databases", "buckets", "queues", "workers"] as const) cloud.account[kind].clear();
});
afterAll(() => cloud.stop());

const addDatabase = async (table: string) => {
  const id = randomUUID();
  cloud.account.databases.set(id, { name: "gateway", location: undefined, jurisdiction: undefined, replication: "auto" });
  await cloud.runtime.query(id, `CREATE TABLE ${table} (id TEXT)`);
  return id;
};
const addWorker = (deployment?: string, name = "gateway") =>
  cloud.account.upload(
    name,
    [],
    { main_module: "worker.js", bindings: deployment === undefined ? [] : [{ type: "plain_text", name: "DEPLOYMENT", text: deployment }] },
    true,
  );
const addBucket = (rules: unknown[]) =>
  cloud.account.buckets.set("gateway-assets", { location: undefined, jurisdiction: undefined, rules, files: new Map([["a", ""]]) });
const addQueue = () => cloud.account.queues.set("gateway-dead", { id: "f".repeat(32), jurisdiction: undefined, consumers: [] });

test.each<[string, () => unknown]>([
  ["the Worker gateway", () => addWorker()],
  ["the Worker gateway", () => addWorker("gateway-of-another-team")],
  ["the database gateway", () => addDatabase("customers")],
  ["the bucket gateway-assets", () => addBucket([])],
  ["the queue gateway-dead", addQueue],
])("without the mark, and without state on this machine, %s is left as it is by deploy --yes and destroy --yes", async (thing, add) => {
  await add();
  const before = JSON.stringify([cloud.account.snapshot(), [...cloud.account.buckets.values()].map(({ files }) => files.size)]);
  cloud.api.calls.length = 0;
  for (const [script, args] of [
    ["deploy", ["--yes"]],
    ["destroy", ["--yes", "gateway"]],
  ] as const) {
    const { code, output } = await cloud.npm(script, [...args]);
    expect([code, output]).toEqual([1, expect.stringContaining(`${thing} has no mark of this project`)]);
    expect(output).toContain(`→ Run \`npm run ${script}\` in a terminal and type the name`);
  }
  expect(cloud.api.calls.filter((call) => !call.startsWith("GET ") && !call.endsWith("/query"))).toEqual([]);
  expect(JSON.stringify([cloud.account.snapshot(), [...cloud.account.buckets.values()].map(({ files }) => files.size)])).toBe(before);
});

test("a database is found among more of a similar name than the API lists in a page", async () => {
  for (let at = 0; at < 120; at++)
    cloud.account.databases.set(randomUUID(), { name: `gateway-${at}`, location: undefined, jurisdiction: undefined, replication: "auto" });
  const { output } = await cloud.npm("deploy", ["--dry-run"]);
  expect(output).toContain("create the database gateway");
  await addDatabase("customers");
  const found = await cloud.npm("deploy", ["--dry-run"]);
  expect(found.output).not.toContain("create the database gateway");
});

test("a dry run names what has no mark", async () => {
  addWorker();
  const { code, output } = await cloud.npm("deploy", ["--dry-run"]);
  expect([code, output]).toEqual([0, expect.stringContaining("perhaps someone else's: the Worker gateway.")]);
});

test("a marked deployment is destroyed without state on this machine", async () => {
  const id = await addDatabase("wallet");
  await cloud.runtime.query(id, "CREATE TABLE api_key (id TEXT)");
  addWorker("gateway");
  // One that only an option deploys.
  addWorker("gateway", "gateway-payments");
  addQueue();
  const { code, output } = await cloud.npm("destroy", ["--yes", "gateway"]);
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is gone")]);
  expect(cloud.account.names()).toEqual([]);
});
