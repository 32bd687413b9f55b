/**
 * Each API call of a first deployment fails once, a write after its effect: the next run continues and completes the deployment. A write that
 * fails before its effect leaves what the write before it leaves.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud();
});
afterAll(() => cloud.stop());

const maxRuns = 200;
const isWrite = (call: string) => !call.startsWith("GET ") && !call.endsWith("/query");
/** Wrangler makes the same calls for each Worker: one call stands for all of them, except uploads, which all fail. */
const readKind = (call: string) =>
  /^PUT |\/versions$/.test(call) ? call : call.replace(/gateway-(sandbox|auth|console|openai|mcp|marks|operations)/, "gateway");

// About sixty deployments: five minutes alone. A part of `.ci/nightly`.
test("a deployment interrupted at each of its calls in turn ends like an uninterrupted one", async () => {
  const failed = new Set<string>();
  let broke = 0;
  // One fault per run: the first call that has not failed yet.
  const next = (made: string): "before" | "after" | undefined => {
    const call = readKind(made);
    if (broke > 0 || failed.has(call)) return undefined;
    broke++;
    failed.add(call);
    return isWrite(call) ? "after" : "before";
  };
  cloud.api.fault.current = next;
  // Requests to the gateway count as calls too.
  cloud.intercept.current = (request) => {
    const { pathname } = new URL(request.url);
    const call = `${request.method} gateway${pathname.replaceAll(/(acc|key|task)_[\w-]+|assets\/.*/g, "{id}")}`;
    return pathname !== "/readyz" && !failed.has(call) && next(call) ? new Response("scripted fault", { status: 500 }) : undefined;
  };
  const outputs: string[] = [];
  let runs = 0;
  for (let wasBroken = true; wasBroken; runs++) {
    expect(runs, outputs.slice(-3).join("\n---\n")).toBeLessThan(maxRuns);
    broke = 0;
    // The operator corrects a secret when everything is deployed, before the run that continues.
    const isCorrected = failed.has("GET gateway/v1/models");
    const { code, output } = await cloud.npm("deploy", ["--yes"], { ASSET_SIGNING_SECRET_OLD: isCorrected ? "corrected" : "mistaken" });
    outputs.push(output);
    wasBroken = broke > 0;
    // Wrangler ignores faults of a few calls (tags, settings); any other fault ends the run with a remedy.
    expect([code === 0 || (code === 1 && wasBroken), output]).toEqual([true, expect.stringMatching(/→ |is up at/)]);
  }
  expect(outputs.at(-1)).toContain("gateway is up at https://gateway.acme.workers.dev");
  expect(outputs.filter((output) => /^API_KEY=/m.test(output))).toHaveLength(1);
  expect(failed.size).toBeGreaterThan(30);
  const uploads = [
    "gateway-sandbox",
    "gateway-auth",
    "gateway-console",
    "gateway-openai",
    "gateway-mcp",
    "gateway-marks",
    "gateway-operations",
    "gateway",
  ].map((name) => `POST /workers/scripts/${name}/versions`);
  for (const call of ["POST /d1/database", "POST /r2/buckets", "POST /queues", ...uploads, "GET gateway/v1/models"])
    expect([...failed]).toContain(call);

  expect(cloud.account.workers.get("gateway")!.secrets.get("ASSET_SIGNING_SECRET_OLD")).toBe("corrected");
  const [id = ""] = cloud.account.databases.keys();
  expect([...cloud.account.databases.values()].map(({ name }) => name)).toEqual(["gateway"]);
  expect([...cloud.account.queues.keys()].sort()).toEqual(["gateway-dead", "gateway-dispatch", "gateway-notify", "gateway-starts"]);
  expect(cloud.account.buckets.get("gateway-assets")!.rules).toHaveLength(4);
  expect(await cloud.runtime.query(id, "SELECT email FROM account ORDER BY email")).toMatchObject([
    { results: [{ email: "deployment-check@gateway.invalid" }, { email: "operator@example.com" }] },
  ]);
  expect(await cloud.runtime.query(id, "SELECT name FROM api_key WHERE deleted_at IS NULL")).toMatchObject([
    { results: [{ name: "first key" }] },
  ]);
}, 1_800_000);
