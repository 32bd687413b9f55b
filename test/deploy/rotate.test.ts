/** Rotations on a deployed gateway: what was signed before stays valid, and a rotation that broke off continues with the same value. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { rotatedName } from "../../src/base/rotated-secrets.ts";
import { type Cloud, startCloud } from "./cloud.ts";

const base = "https://gateway.acme.workers.dev";
let cloud: Cloud;
let key = "";
beforeAll(async () => {
  cloud = await startCloud();
  const { code, output } = await cloud.npm("deploy", ["--yes"]);
  expect([code, output]).toEqual([0, expect.stringContaining("is up at")]);
  key = /^API_KEY=(sk-\w+)$/m.exec(output)?.[1] ?? "";
}, 600_000);
afterAll(() => cloud.stop());

const fetchGateway = (path: string, init: RequestInit = {}) =>
  cloud.runtime.fetch("gateway", new Request(path.startsWith("https://") ? path : `${base}${path}`, init));
const readSecrets = (worker: string) => cloud.account.workers.get(worker)!.secrets;
const rotate = (name: string, variables: Record<string, string> = {}) => cloud.npm("deploy", ["--rotate", name, "--yes"], variables);
const listVersions = (worker: string, name: string) => [...readSecrets(worker).keys()].filter((one) => rotatedName.exec(one)?.[1] === name);

/** Makes an image, and returns its task and the URL of its file. */
async function makeImage(): Promise<{ id: string; url: string }> {
  const authorization = `Bearer ${key}`;
  const submitted = await fetchGateway("/v1/images/generations", {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ model: "imgA-4", prompt: "A lighthouse" }),
  });
  const { id } = (await submitted.json()) as { id: string };
  const awaited = await fetchGateway(`/v1/tasks/${id}?wait=60`, { headers: { authorization } });
  const { data } = (await awaited.json()) as { data: { result: { images: { url: string[] }[] } } };
  const { result } = data;
  return { id, url: result.images.at(0)!.url.at(0)! };
}

test("URLs that were signed before a rotation work after it, and after an upgrade", async () => {
  const before = await makeImage();
  expect((await fetchGateway(before.url)).status).toBe(200);
  const old = readSecrets("gateway").get("ASSET_SIGNING_SECRET");
  const { code, output } = await rotate("ASSET_SIGNING_SECRET");
  expect([code, output]).toEqual([0, expect.stringContaining("ASSET_SIGNING_SECRET is rotated.")]);
  expect(listVersions("gateway", "ASSET_SIGNING_SECRET")).toHaveLength(1);
  expect(readSecrets("gateway").get("ASSET_SIGNING_SECRET")).toBe(old);
  const after = await makeImage();
  for (const { url } of [before, after]) expect((await fetchGateway(url)).status).toBe(200);
  expect((await fetchGateway(after.url.replace(/signature=.{4}/, "signature=AAAA"))).status).toBe(403);
  // The query signs with the new secret: another signature of the same file.
  const status = await fetchGateway(`/v1/tasks/${before.id}`, { headers: { authorization: `Bearer ${key}` } });
  const { data } = (await status.json()) as { data: { result: { images: { url: string[] }[] } } };
  expect(data.result.images.at(0)!.url.at(0)!).not.toBe(before.url);
  const upgrade = await cloud.npm("deploy", ["--yes"]);
  expect([upgrade.code, upgrade.output]).toEqual([0, expect.stringContaining("is up at")]);
  for (const { url } of [before, after]) expect((await fetchGateway(url)).status).toBe(200);
}, 300_000);

test("a rotation that breaks off continues with the same value", async () => {
  cloud.api.fault.current = (call) => (call.endsWith("secrets-bulk") ? "after" : undefined);
  const first = await rotate("RECEIPT_SIGNING_KEY");
  expect([first.code, first.output]).toEqual([1, expect.stringContaining("→ ")]);
  const [name = ""] = listVersions("gateway", "RECEIPT_SIGNING_KEY");
  const value = readSecrets("gateway").get(name);
  cloud.api.fault.current = () => undefined;
  const second = await rotate("RECEIPT_SIGNING_KEY");
  expect([second.code, second.output]).toEqual([0, expect.stringContaining("is rotated")]);
  expect(listVersions("gateway", "RECEIPT_SIGNING_KEY")).toEqual([name]);
  expect(readSecrets("gateway").get(name)).toBe(value);
  expect(existsSync(join(cloud.checkout, ".deploy/gateway/rotation-RECEIPT_SIGNING_KEY.json"))).toBe(false);
  // The old key stays among the published ones, after the new one.
  const { keys } = (await (await fetchGateway("/.well-known/jwks.json")).json()) as { keys: { kid: string }[] };
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(2);
}, 300_000);

test("the operator's token, the sessions' secret, and no value in a log", async () => {
  const old = readSecrets("gateway").get("ADMIN_TOKEN");
  expect((await rotate("ADMIN_TOKEN")).code).toBe(0);
  const token = readSecrets("gateway").get("ADMIN_TOKEN")!;
  expect(token).not.toBe(old);
  expect((await readFile(join(cloud.checkout, ".deploy/gateway/admin-token"), "utf8")).trim()).toBe(token);
  const asAdmin = async (value = "") => (await fetchGateway("/admin/accounts", { headers: { authorization: `Bearer ${value}` } })).status;
  expect([await asAdmin(token), await asAdmin(old)]).toEqual([200, 401]);
  const session = readSecrets("gateway-console").get("AUTH_SECRET");
  expect((await rotate("AUTH_SECRET")).code).toBe(0);
  expect(readSecrets("gateway-console").get("AUTH_SECRET")).not.toBe(session);
  const logs = await cloud.logs();
  for (const worker of ["gateway", "gateway-console"]) for (const value of readSecrets(worker).values()) expect(logs).not.toContain(value);
  const unknown = cloud.api.calls.filter((call) => call.startsWith("!!"));
  expect(unknown).toEqual([]);
}, 300_000);

test("without a terminal a secret of which only one is accepted is set by a deployment", async () => {
  readSecrets("gateway-console").set("GITHUB_CLIENT_SECRET", "present");
  const { code, output } = await rotate("GITHUB_CLIENT_SECRET");
  expect([code, output]).toEqual([1, expect.stringContaining("→ Set GITHUB_CLIENT_SECRET in the environment, and run npm run deploy.")]);
});

test("a value in the file for a secret that was rotated stops the deployment: it would not be used", async () => {
  const { code, output } = await cloud.npm("deploy", ["--yes"], { ASSET_SIGNING_SECRET: "a value of twenty-four characters" });
  expect([code, output]).toEqual([1, expect.stringContaining("ASSET_SIGNING_SECRET was rotated since")]);
});

test("a test alert without a receiver says so, and one that is refused names it", async () => {
  const none = await cloud.npm("deploy", ["--test-alert"]);
  expect([none.code, none.output]).toEqual([1, expect.stringContaining("No receiver is configured")]);
  const receivers = [{ receiver: "webhook", delivered: false, reason: "ALERT_WEBHOOK answered 404" }];
  cloud.intercept.current = ({ url }) =>
    url.endsWith("/admin/alerts/test") ? Response.json({ object: "test_alert", receivers }) : undefined;
  const refused = await cloud.npm("deploy", ["--test-alert"]);
  expect([refused.code, refused.output]).toEqual([1, expect.stringContaining("✗ webhook: ALERT_WEBHOOK answered 404")]);
  cloud.intercept.current = () => undefined;
});
