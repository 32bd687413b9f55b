/** Each missing precondition of a deployment gives a message with a remedy and without a link, and nothing is changed. */

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { accountId, type Shortcomings, token } from "./account.ts";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
let complete: Shortcomings;
beforeAll(async () => {
  cloud = await startCloud();
  complete = { ...cloud.account.settings };
});
afterEach(() => {
  Object.assign(cloud.account.settings, complete);
  expect(cloud.account.names()).toEqual([]);
});
afterAll(() => cloud.stop());

interface Case {
  settings?: Partial<Shortcomings>;
  args?: string[];
  variables?: Record<string, string>;
  reason: string;
  remedy: string;
}

const manyAccounts = [
  ...Array.from({ length: 60 }, (_, at) => ({ id: String(at).padStart(32, "0"), name: `Account ${at}` })),
  { id: accountId, name: "Acme" },
];

const cases: Record<string, Case> = {
  "no credentials": {
    variables: { CLOUDFLARE_API_TOKEN: "" },
    reason: "There are no credentials for Cloudflare.",
    remedy: "npx wrangler login",
  },
  "refused credentials": {
    variables: { CLOUDFLARE_API_TOKEN: "another-token-of-the-operator" },
    reason: "Cloudflare refused the credentials.",
    remedy: "CLOUDFLARE_API_TOKEN",
  },
  "credentials of the wrong form": {
    variables: { CLOUDFLARE_API_TOKEN: "short" },
    reason: "Cloudflare refused the credentials.",
    remedy: "CLOUDFLARE_API_TOKEN",
  },
  "a token with a line break": {
    variables: { CLOUDFLARE_API_TOKEN: "sensitive\nword" },
    reason: "CLOUDFLARE_API_TOKEN contains a character that no token has",
    remedy: "Copy the token again",
  },
  "no account": { settings: { accounts: [] }, reason: "These credentials reach no account.", remedy: "Account Settings: Read" },
  "several accounts": {
    settings: {
      accounts: [
        { id: accountId, name: "Acme" },
        { id: "f".repeat(32), name: "Other" },
      ],
    },
    reason: "These credentials reach several accounts.",
    remedy: `Set CLOUDFLARE_ACCOUNT_ID to one of them: ${accountId} (Acme) or ${"f".repeat(32)} (Other).`,
  },
  "another account": {
    variables: { CLOUDFLARE_ACCOUNT_ID: "f".repeat(32) },
    reason: "not among the accounts of these credentials",
    remedy: `Set it to ${accountId} (Acme).`,
  },
  "R2 not enabled": {
    settings: { hasR2: false },
    reason: "R2, Cloudflare's file storage, is not enabled on this account.",
    remedy: '"R2", and choose "Enable"',
  },
  "a token without D1": { settings: { forbidden: ["d1"] }, reason: "The credentials may not use D1.", remedy: '"D1: Edit"' },
  "a token without queues": {
    settings: { forbidden: ["queues"] },
    reason: "The credentials may not use Queues.",
    remedy: '"Queues: Edit"',
  },
  "a token without R2": {
    settings: { forbidden: ["r2"] },
    reason: "The credentials may not use Workers R2 Storage.",
    remedy: '"Workers R2 Storage: Edit"',
  },
  "a token without Workers": {
    settings: { forbidden: ["workers"] },
    reason: "The credentials may not use Workers Scripts.",
    remedy: '"Workers Scripts: Edit"',
  },
  "no workers.dev subdomain": {
    settings: { subdomain: undefined },
    reason: "The account has no workers.dev subdomain.",
    remedy: "--domain",
  },
  "the Free plan": { settings: { plan: "free" }, reason: "The account is on the Workers Free plan", remedy: "run again with --free" },
  "a domain of another account": {
    args: ["--domain", "api.example.org"],
    reason: "api.example.org belongs to no domain of this account that these credentials may read.",
    remedy: '"Add a domain"',
  },
  "a token without Zone:Read, for which the list of zones is empty": {
    settings: { readsZones: false },
    args: ["--domain", "api.example.com"],
    reason: "These credentials see no domain of this account",
    remedy: 'Give the token "Zone: Read"',
  },
  "none of more than fifty accounts chosen": {
    settings: { accounts: manyAccounts },
    reason: "These credentials reach several accounts.",
    remedy: "or one of 51 more.",
  },
  "a value without quotes that has a #": {
    args: ["--secrets", "cut.env"],
    reason: "cut.env has a # in the value of FAL_KEY, and without quotes the value would end there.",
    remedy: "FAL_KEY='...'",
  },
  "nothing to serve": { args: ["--without", "sandbox"], reason: "nothing would serve a request", remedy: "--with ai" },
  "e-mail without a sender": { args: ["--with", "email"], reason: "--with email has no sender.", remedy: "--mail-from" },
  "a sender that is no address": {
    args: ["--with", "email", "--secrets", "sender.env"],
    reason: "The variable MAIL_FROM must be an e-mail address",
    remedy: "docs/configuration.md",
  },
  "no address": { settings: { email: undefined }, reason: "The first account needs an e-mail address", remedy: "--email you@example.com" },
  "no terminal": { reason: "There is no terminal to ask on.", remedy: "npm run deploy -- --yes" },
  "no such secrets file": { args: ["--secrets", "missing.env"], reason: "missing.env", remedy: "NAME=value" },
  "a wrong name in the secrets file": {
    args: ["--secrets", "wrong.env"],
    reason: "sets OPENAI_KEY, which no Worker reads",
    remedy: "Correct the name",
  },
  "a secret that can be guessed": {
    variables: { ADMIN_TOKEN: "letmein" },
    reason: "ADMIN_TOKEN has 7 characters",
    remedy: "at least 24 random characters",
  },
  "a certificate chain that is too large for a secret": {
    variables: { C2PA_CERTIFICATES: "-----BEGIN CERTIFICATE-----\n".repeat(200) },
    reason: "C2PA_CERTIFICATES has 5600 bytes, and Cloudflare takes at most 5120 of a variable or secret.",
    remedy: "Shorten it",
  },
  "alerts to an address without e-mail": {
    args: ["--secrets", "mail.env"],
    reason: "ALERT_MAIL needs e-mail: --with email --mail-from ADDRESS",
    remedy: "or remove what needs it",
  },
  "alerts to a webhook without a secret": {
    variables: { ALERT_WEBHOOK: "https://pager.example/alerts" },
    reason: "ALERT_WEBHOOK needs the secret ALERT_SIGNING_SECRET",
    remedy: "Add or correct it",
  },
  "wrong values of variables, each at its Worker": {
    args: ["--secrets", "values.env"],
    reason: `The variable SIGNUP must be one of open, invite, closed
The variable ALIASES must be a table of names with at most one *, each with the name of one of the gateway's models, or empty
The variable LEDGER_DAYS must be from 9 to 365: records of tasks are kept for a week, daily sums for thirteen months
The variable ALERT_WEBHOOK must be an http(s) address
The variable ALERT_SIGNING_SECRET must be whsec_ followed by Base64
The variable MAX_OPEN_TASKS must be a whole number from 1 to 999999999
The variable RECEIPT_SIGNING_KEY must be an Ed25519 key, as JWK or PKCS8 in Base64`,
    remedy: "docs/configuration.md",
  },
  "one half of a login": {
    variables: { GITHUB_CLIENT_ID: "id-of-github-app" },
    reason: "The secret GITHUB_CLIENT_SECRET is missing beside the other one of its login",
    remedy: "or remove what needs it",
  },
  "payments that would be credited a day later": {
    args: ["--with", "payments"],
    variables: { STRIPE_SECRET_KEY: "rk_live_of_the_operator" },
    reason: "--with payments needs the secret STRIPE_WEBHOOK_SECRET",
    remedy: "Add or correct it",
  },
  "payments without a price for tokens": {
    args: ["--with", "payments", "--secrets", "tokens.env"],
    variables: { STRIPE_SECRET_KEY: "rk_live_of_the_operator", STRIPE_WEBHOOK_SECRET: "whsec_of_the_operator" },
    reason: "The variable TOKENS_PER_USD must be a whole number",
    remedy: "Add or correct it",
  },
  "Stripe at an address that is none": {
    args: ["--with", "payments", "--secrets", "stripe.env"],
    variables: { STRIPE_SECRET_KEY: "rk_live_of_the_operator", STRIPE_WEBHOOK_SECRET: "whsec_of_the_operator" },
    reason: "The variable STRIPE_BASE_URL must be an http(s) address without a slash at its end",
    remedy: "Add or correct it",
  },
  "routes of an earlier release that cannot be read": {
    args: ["--secrets", "routes.env"],
    reason: "ROUTES is not a table.",
    remedy: "Correct it, and run the same command again.",
  },
  "a rotation of nothing": { args: ["--rotate", "EVERYTHING"], reason: '"EVERYTHING" is not a value of --rotate.', remedy: "AUTH_SECRET" },
  "a rotation of a secret that is not set": {
    args: ["--rotate", "ADMIN_TOKEN", "--yes"],
    reason: "No Worker of gateway on Acme has the secret ADMIN_TOKEN.",
    remedy: "npm run deploy",
  },
  "a rotation of a secret in the environment": {
    args: ["--rotate", "FAL_KEY"],
    variables: { FAL_KEY: "another" },
    reason: "FAL_KEY is set by your file or environment",
    remedy: "FAL_KEY_OLD",
  },
  "a rotation of a secret of which only one is accepted": {
    args: ["--rotate", "GITHUB_CLIENT_SECRET"],
    variables: { GITHUB_CLIENT_SECRET: "another" },
    reason: "GITHUB_CLIENT_SECRET is set by your file or environment",
    remedy: "Replace it there, and run npm run deploy.",
  },
  "an unknown option": { args: ["--regoin", "weur"], reason: "--regoin", remedy: "--help" },
  "an option without dashes": { args: ["staging"], reason: "Unexpected argument 'staging'.", remedy: "npm run deploy -- --env staging" },
  "an option that npm took": {
    variables: { npm_config_env: "staging" },
    reason: "npm has taken the option --env for itself.",
    remedy: "npm run deploy -- --env staging",
  },
  "a word in place of an address": { args: ["--email", "me"], reason: "--email me is not an e-mail address.", remedy: "--email you@" },
  "destinations without traces": { args: ["--traces-to", "honeycomb"], reason: "--traces-to exports nothing", remedy: "--traces 0.01" },
  "an unknown region": { args: ["--region", "mars"], reason: '"mars" is not a value of --region.', remedy: "weur" },
  "two places": {
    args: ["--region", "weur", "--jurisdiction", "eu"],
    reason: "--region and --jurisdiction both say where the data is.",
    remedy: "Give one of them",
  },
  "an unknown part": {
    args: ["--without", "gateway"],
    reason: '"gateway" is not a value of --without.',
    remedy: "sandbox, console, openai, mcp, marks, operations",
  },
  "an environment that cannot be a name": {
    args: ["--env", "My-Env"],
    reason: "--env My-Env cannot be part of a name.",
    remedy: "lower-case",
  },
  "an environment that is a part's name": { args: ["--env", "console"], reason: "--env console", remedy: "another name" },
};

beforeAll(async () => {
  await writeFile(join(cloud.checkout, "wrong.env"), "OPENAI_KEY=sk-x\n");
  await writeFile(join(cloud.checkout, "cut.env"), "OPENAI_API_KEY='a#b' # quoted\nBALANCE_UNIT=CNY # a comment\nFAL_KEY=ab#cd\n");
  await writeFile(join(cloud.checkout, "mail.env"), "ALERT_MAIL=operator@example.com\n");
  const wrong =
    "MAX_OPEN_TASKS=many\nSIGNUP=everyone\nLEDGER_DAYS=8\nRECEIPT_SIGNING_KEY=an-ed25519-key-as-I-remember-it\nALIASES=sora-1\nALERT_WEBHOOK=pager.example\nALERT_SIGNING_SECRET=whsec_no-base64\n";
  await writeFile(join(cloud.checkout, "values.env"), wrong);
  await writeFile(join(cloud.checkout, "tokens.env"), "BALANCE_UNIT=TOKENS\n");
  await writeFile(join(cloud.checkout, "sender.env"), "MAIL_FROM=Gateway <mail@shop.example>\n");
  await writeFile(join(cloud.checkout, "stripe.env"), "STRIPE_BASE_URL=stripe.example\n");
  await writeFile(join(cloud.checkout, "routes.env"), "ROUTES=[]\n");
});

test.each(Object.entries(cases))("%s", async (_, { settings, args = [], variables, reason, remedy }) => {
  Object.assign(cloud.account.settings, settings);
  const { code, output } = await cloud.npm("deploy", args, variables);
  const [problem = "", advice = ""] = output.slice(output.lastIndexOf("\n\n") + 2).split("\n→ ");
  expect([code, problem, advice]).toEqual([1, expect.stringContaining(reason), expect.stringContaining(remedy)]);
  expect(output).not.toMatch(/https?:\/\/(?!gateway\.)|\bat .*\.ts:\d|sensitive|word$/m);
});

test("a host that is used by something else is refused", async () => {
  cloud.account.records.add("www.example.com");
  cloud.account.domains.set("shop.example.com", "shop");
  const record = await cloud.npm("deploy", ["--yes", "--domain", "www.example.com"]);
  expect([record.code, record.output]).toEqual([1, expect.stringContaining("www.example.com has a DNS record already (A).")]);
  const worker = await cloud.npm("deploy", ["--yes", "--domain", "shop.example.com"]);
  expect([worker.code, worker.output]).toEqual([1, expect.stringContaining("shop.example.com is the domain of another Worker, shop.")]);
  expect(await cloud.logs()).toContain("shop.example.com is the domain of another Worker, shop.\n→ Choose another host");
});

test("an account beyond the API's first page is found", async () => {
  cloud.account.settings.accounts = manyAccounts;
  const { code, output } = await cloud.npm("deploy", ["--dry-run"], { CLOUDFLARE_ACCOUNT_ID: accountId });
  expect([code, output]).toEqual([0, expect.stringContaining("account: Acme")]);
});

test("a stored state that cannot be read is named by both commands", async () => {
  const folder = join(cloud.checkout, ".deploy/gateway");
  await mkdir(folder, { recursive: true });
  for (const text of ["{", JSON.stringify({ account: accountId, choices: { with: ["later"] }, deployed: {}, isWelcomed: true })]) {
    await writeFile(join(folder, "state.json"), text);
    for (const [script, args] of [
      ["deploy", ["--yes"]],
      ["destroy", ["--yes", "gateway"]],
    ] as const) {
      const { code, output } = await cloud.npm(script, [...args]);
      expect([code, output]).toEqual([1, expect.stringContaining(".deploy/gateway/state.json is damaged, or was written by a release")]);
    }
  }
  await rm(folder, { recursive: true });
});

test("both commands print their options", async () => {
  for (const script of ["deploy", "destroy"] as const) {
    const { code, output } = await cloud.npm(script, ["--help"]);
    expect([code, output]).toEqual([0, expect.stringContaining(`npm run ${script} -- [options]\n\n  --env NAME`)]);
  }
});

test("the login of `wrangler login` is accepted like a token", async () => {
  const folder = join(cloud.checkout, "../.config/.wrangler/config");
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "default.toml"),
    `oauth_token = "${token}"\nrefresh_token = "refresh"\nexpiration_time = "2099-01-01T00:00:00.000Z"\nscopes = ["account:read"]\n`,
  );
  const { code, output } = await cloud.npm("deploy", ["--dry-run"], { CLOUDFLARE_API_TOKEN: "" });
  expect([code, output]).toEqual([0, expect.stringContaining("account: Acme")]);
});

test("the Free plan is allowed with --free, and a plan that cannot be read is reported", async () => {
  cloud.account.settings.plan = "free";
  const free = await cloud.npm("deploy", ["--dry-run", "--free"]);
  expect([free.code, free.output]).toEqual([0, expect.stringContaining("10,000 queue operations a day")]);
  cloud.account.settings.plan = undefined;
  const unknown = await cloud.npm("deploy", ["--dry-run"]);
  expect([unknown.code, unknown.output]).toEqual([0, expect.stringContaining("plan: not readable with these credentials")]);
});

test("an API that cannot be reached gives a message too", async () => {
  const { code, output } = await cloud.npm("deploy", [], { CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:9/client/v4" });
  expect([code, output]).toEqual([1, expect.stringContaining("Cloudflare's API cannot be reached")]);
  expect(output).toContain("HTTPS_PROXY");
});
