/** Deployments with all options: a domain, bindings, provider keys, no sandbox; and options are kept for the next run. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newTestChain } from "../../scripts/support/test-chain.ts";
import { readState } from "../../scripts/deploy/state.ts";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
beforeAll(async () => {
  cloud = await startCloud();
});
afterAll(() => cloud.stop());

const bound = (name: string) =>
  Object.fromEntries((cloud.account.versionOf(name)?.bindings ?? []).map((binding) => [binding.name, binding]));

test("a domain, bindings from flags, and secrets from the environment and a file, each for the Worker that reads it", async () => {
  const folder = join(cloud.checkout, "secrets.env");
  const chain = await newTestChain();
  const signing = Object.entries(chain).map(([name, pem]) => `${name}='${pem}'\n`);
  const lines = [
    "GITHUB_CLIENT_ID=id-of-github-app\n",
    "GITHUB_CLIENT_SECRET='a secret with $ and \"'\n",
    "BALANCE_UNIT=CNY\n",
    ...signing,
  ];
  await writeFile(folder, lines.join(""));
  // An account's id belongs to the credentials of a provider.
  const credentials = {
    OPENAI_API_KEY: "sk-openai-operator-key",
    WORKERS_AI_API_TOKEN: "token-of-workers-ai",
    WORKERS_AI_ACCOUNT_ID: "acme",
  };
  const variables = { ...credentials, OPENAI_BASE_URL: "http://127.0.0.1:1", BALANCE_UNIT: "TOKENS" };
  const args = ["--domain", "api.example.com", "--with", "ai,media,email", "--mail-from", "gateway@example.com", "--without", "sandbox"];
  const where = ["--jurisdiction", "eu", "--marks", "cn", "--traces", "0.01", "--traces-to", "honeycomb"];
  const { code, output } = await cloud.npm("deploy", ["--yes", "--secrets", "secrets.env", ...args, ...where], variables);
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is up at https://api.example.com")]);
  expect(output).toContain("providers: openai, cloudflare");
  expect(cloud.account.names()).not.toContain("gateway-sandbox");
  expect([...cloud.account.domains]).toEqual([["api.example.com", "gateway"]]);
  expect(cloud.account.workers.get("gateway")!.hasSubdomain).toBe(false);

  const gateway = bound("gateway");
  expect([gateway["AI"]?.type, gateway["MEDIA"]?.type, gateway["SANDBOX"], gateway["CONSOLE"]?.type]).toEqual([
    "ai",
    "media",
    undefined,
    "service",
  ]);
  // Only secrets are read from the environment: other shell variables belong to `npm start`.
  expect([gateway["BALANCE_UNIT"]?.["text"], gateway["OPENAI_BASE_URL"]]).toEqual(["CNY", undefined]);
  expect([gateway["MARKS"]?.["text"], gateway["VISIBLE_LABEL"]?.["text"]]).toEqual(["sign", "on"]);
  const console = bound("gateway-console");
  expect([console["MAIL"]?.type, console["MAIL_FROM"]?.["text"], console["BALANCE_UNIT"]?.["text"]]).toEqual([
    "send_email",
    "gateway@example.com",
    "CNY",
  ]);
  expect(console["CONSOLE_URL"]?.["text"]).toBe("https://api.example.com");
  const secrets = (name: string) => Object.fromEntries(cloud.account.workers.get(name)!.secrets);
  expect(secrets("gateway")).toMatchObject(credentials);
  expect(secrets("gateway-console")).toMatchObject({ GITHUB_CLIENT_ID: "id-of-github-app", GITHUB_CLIENT_SECRET: 'a secret with $ and "' });
  expect(secrets("gateway-console")).not.toHaveProperty("OPENAI_API_KEY");
  expect(secrets("gateway-marks")).toEqual(chain);
  expect(output).not.toContain("MARKS is sign");
  for (const name of cloud.account.workers.keys())
    expect(cloud.account.versionOf(name)!.metadata["observability"]).toMatchObject({
      traces: { enabled: true, head_sampling_rate: 0.01, destinations: ["honeycomb"] },
    });
  // Database, bucket, queues and objects are inside the jurisdiction, and each Worker has the variable.
  expect([...cloud.account.databases.values()].map(({ jurisdiction }) => jurisdiction)).toEqual(["eu"]);
  expect([...cloud.account.buckets.values()].map(({ jurisdiction, rules }) => [jurisdiction, rules.length])).toEqual([["eu", 4]]);
  expect([...cloud.account.queues.values()].map(({ jurisdiction }) => jurisdiction)).toEqual(["eu", "eu", "eu", "eu"]);
  for (const part of [gateway, console, bound("gateway-operations")]) expect(part["ASSETS"]?.["jurisdiction"]).toBe("eu");
  for (const part of [gateway, bound("gateway-openai")]) expect(part["JURISDICTION"]?.["text"]).toBe("eu");
  const logs = await cloud.logs();
  for (const secret of [
    "sk-openai-operator-key",
    "a secret with $",
    chain.C2PA_PRIVATE_KEY.split("\n")[1],
    ...Object.values(secrets("gateway")),
    ...Object.values(secrets("gateway-console")),
  ]) {
    expect(logs).not.toContain(secret);
    expect(output).not.toContain(secret);
  }
});

test("options apply to later runs until they are removed, and secrets stay set", async () => {
  expect((await readState(join(cloud.checkout, ".deploy/gateway")))?.choices).toEqual({
    domain: "api.example.com",
    jurisdiction: "eu",
    without: ["sandbox"],
    with: ["ai", "media", "email"],
    mailFrom: "gateway@example.com",
    marks: "cn",
    traces: 0.01,
    tracesTo: ["honeycomb"],
  });
  const dry = await cloud.npm("deploy", ["--dry-run"]);
  expect([dry.code, dry.output]).toEqual([0, expect.stringContaining("Plan for https://api.example.com")]);
  expect(dry.output).toContain("providers: openai, cloudflare");
  expect(dry.output).not.toContain("gateway-sandbox");
  const back = await cloud.npm("deploy", ["--dry-run", "--domain", "none", "--without", "none", "--with", "none"]);
  expect([back.code, back.output]).toEqual([0, expect.stringContaining("Plan for https://gateway.acme.workers.dev")]);
  expect(back.output).toContain("create the Worker gateway-sandbox");
  expect(back.output).toContain("take the domain api.example.com away from gateway");
  expect(back.output).toMatch(/providers: openai, cloudflare;/);
  const less = await cloud.npm("deploy", ["--dry-run", "--without", "sandbox,mcp"], { STRIPE_SECRET_KEY: "rk_live_of_the_operator" });
  expect(less.output).toContain("Not used, because the Worker that reads it is left out: STRIPE_SECRET_KEY.");
  expect([less.code, less.output]).toEqual([0, expect.stringContaining("gateway-mcp is left out, and stays on the account without use")]);
  expect(less.output).toContain("`npx wrangler delete --name gateway-mcp` removes it.");
  const elsewhere = await cloud.npm("deploy", ["--dry-run", "--jurisdiction", "us"]);
  expect([elsewhere.code, elsewhere.output]).toEqual([
    1,
    expect.stringContaining("gateway is in the jurisdiction eu, and that cannot be changed."),
  ]);
  const near = await cloud.npm("deploy", ["--dry-run", "--region", "weur"]);
  expect([near.code, near.output]).toEqual([1, expect.stringContaining("gateway is in the jurisdiction eu")]);
});

test("an upgrade from a machine without local state does not change accounts and secrets, and the domain can be given back", async () => {
  const before = cloud.account.snapshot() as { workers: { name: string }[] };
  await rm(join(cloud.checkout, ".deploy"), { recursive: true });
  await mkdir(join(cloud.checkout, "models"));
  await writeFile(join(cloud.checkout, "models/house.json"), "{}");
  const kept = ["--mail-from", "gateway@example.com", "--marks", "cn"];
  const args = ["--domain", "none", "--with", "ai,media,email", ...kept, "--without", "sandbox"];
  const outside = await cloud.npm("deploy", ["--yes", "--secrets", "secrets.env", ...args]);
  expect([outside.code, outside.output]).toEqual([1, expect.stringContaining("→ Give --jurisdiction eu")]);
  const { code, output } = await cloud.npm("deploy", ["--yes", "--secrets", "secrets.env", ...args, "--jurisdiction", "eu"]);
  expect([code, output]).toEqual([0, expect.stringContaining("up at https://gateway.acme.workers.dev. ADMIN_TOKEN is not set")]);
  expect(
    output.match(/which leaves out storing models\. Set it in the environment; if it is lost, `npm run deploy -- --rotate/g),
  ).toHaveLength(2);
  expect(output).not.toContain("store the models");
  expect(output).not.toContain("API_KEY=");
  expect(output).toContain("gateway is on Acme already, and was not deployed from here: this upgrades it");
  // Links in mails lead to the address that is left.
  const moved = JSON.stringify(before).replaceAll('"https://api.example.com"', '"https://gateway.acme.workers.dev"');
  const { workers, ...others } = JSON.parse(moved) as typeof before;
  expect(cloud.account.snapshot()).toEqual({
    ...others,
    domains: [],
    workers: workers.map((worker) => (worker.name === "gateway" ? { ...worker, hasSubdomain: true } : worker)),
  });
});

test("a deployment of another account is not changed from the same folder", async () => {
  cloud.account.settings.accounts = [{ id: "f".repeat(32), name: "Other" }];
  const { code, output } = await cloud.npm("deploy", ["--yes"]);
  expect([code, output]).toEqual([1, expect.stringContaining("gateway was deployed from here to the account")]);
});
