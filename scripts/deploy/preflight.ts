/** Checks that an account can take a deployment: each missing condition is reported with its remedy. Changes nothing. */

import * as z from "zod/mini";
import { ApiRefusal, CloudflareApi, type Credentials, parsedJson } from "./api.ts";
import { hasDomain } from "./configuration.ts";
import type { Choices } from "./options.ts";
import type { Inventory } from "./resources.ts";
import type { Run } from "./run.ts";
import { Stop, freePlan, stopFor } from "./stop.ts";

/** The account of the deployment. */
export interface Account {
  id: string;
  name: string;
  api: CloudflareApi;
  /** The user's e-mail address, if the credentials may read it. */
  email: string | undefined;
}

const tokens = z.union([
  z.object({ type: z.literal("api_key"), key: z.string(), email: z.string() }),
  z.object({ type: z.string(), token: z.string() }),
]);
const named = z.array(z.object({ id: z.string(), name: z.string() }));
const domains = z.array(z.object({ id: z.string(), hostname: z.string(), service: z.string() }));
const anything = z.unknown();

/** Finds the credentials and their account. */
export async function findAccount(run: Run, environment: NodeJS.ProcessEnv): Promise<Account> {
  const api = new CloudflareApi(await credentials(run, environment));
  const wanted = environment["CLOUDFLARE_ACCOUNT_ID"];
  const accounts = await api.get("/accounts?per_page=50", named);
  const account = wanted ? accounts.find(({ id }) => id === wanted) : accounts[0];
  if (wanted && !account)
    throw new Stop(
      `CLOUDFLARE_ACCOUNT_ID is ${wanted}, which is not among the accounts of these credentials.`,
      accounts.length > 0 ? `Set it to ${list(accounts)}.` : "Give the token access to that account.",
    );
  if (!account)
    throw new Stop("These credentials reach no account.", 'Give the token "Account Settings: Read" for the account to deploy to.');
  if (!wanted && accounts.length > 1)
    throw new Stop("These credentials reach several accounts.", `Set CLOUDFLARE_ACCOUNT_ID to one of them: ${list(accounts)}.`);
  const user = await api.find("/user", z.object({ email: z.optional(z.string()) }), true);
  return { ...account, api, email: user?.email };
}

const list = (accounts: z.infer<typeof named>) => accounts.map(({ id, name }) => `${id} (${name})`).join(" or ");

/** A token from the environment, or that of `wrangler login`. */
async function credentials(run: Run, environment: NodeJS.ProcessEnv): Promise<Credentials> {
  const token = environment["CLOUDFLARE_API_TOKEN"];
  if (token) {
    run.hide(token);
    if (!/^[\x21-\x7e]+$/.test(token.trim()))
      throw new Stop(
        "CLOUDFLARE_API_TOKEN contains a character that no token has, for example a space or a line break.",
        "Copy the token again, as one piece.",
      );
    return { authorization: `Bearer ${token.trim()}` };
  }
  const output = await run.credentials().catch(() => "");
  const found = tokens.safeParse(parsedJson(output.slice(output.indexOf("{")))).data;
  if (!found)
    throw new Stop(
      "There are no credentials for Cloudflare.",
      'Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN to a token (dashboard, "My Profile", "API Tokens", template "Edit Cloudflare Workers", with D1, Queues and Workers R2 Storage set to "Edit").',
    );
  if ("key" in found) {
    run.hide(found.key);
    return { "x-auth-key": found.key, "x-auth-email": found.email };
  }
  run.hide(found.token);
  return { authorization: `Bearer ${found.token}` };
}

/** The domains of the gateway's Worker, with their ids; none if the credentials may not read them. */
export const readDomains = async ({ api, id }: Account, gateway: string) =>
  (await api.find(`/accounts/${id}/workers/domains?service=${gateway}`, domains, true))?.filter(({ service }) => service === gateway) ?? [];

/** Checks that the required services are enabled and permitted. Returns the gateway's public host. */
export async function checkServices(account: Account, gateway: string, choices: Choices): Promise<string> {
  const { api, id } = account;
  await allowed(api, `/accounts/${id}/workers/scripts`, "Workers Scripts");
  await allowed(api, `/accounts/${id}/d1/database?per_page=10`, "D1");
  await allowed(api, `/accounts/${id}/queues`, "Queues");
  await allowed(api, `/accounts/${id}/r2/buckets?per_page=1`, "Workers R2 Storage");
  return hasDomain(choices.domain) ? ownDomain(account, gateway, choices.domain) : workersDev(account, gateway);
}

async function allowed(api: CloudflareApi, path: string, permission: string): Promise<void> {
  try {
    await api.get(path, anything);
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const stop = error.code === 10_000 || error.code === 9109 ? undefined : stopFor(error.code);
    if (stop) throw stop;
    if (error.status === 401 || error.status === 403)
      throw new Stop(
        `The credentials may not use ${permission}.`,
        `Run \`npx wrangler login\` again, or give the token the permission "${permission}: Edit".`,
      );
    throw error;
  }
}

async function workersDev({ api, id }: Account, gateway: string): Promise<string> {
  const none = new Stop(
    "The account has no workers.dev subdomain.",
    'Open the Cloudflare dashboard, "Workers & Pages", and choose a subdomain there, or give a host of your own with --domain.',
  );
  const found = await api
    .find(`/accounts/${id}/workers/subdomain`, z.object({ subdomain: z.nullish(z.string()) }))
    .catch((error: unknown) => {
      throw error instanceof ApiRefusal && error.code === 10_007 ? none : error;
    });
  if (!found?.subdomain) throw none;
  return `${gateway}.${found.subdomain}.workers.dev`;
}

/**
 * Checks that the host's zone is on the account and that nothing else uses the host: wrangler would replace it without asking.
 * If the credentials may not read zones, the check of the zone is left to wrangler.
 */
async function ownDomain({ api, id }: Account, gateway: string, domain: string): Promise<string> {
  const uses = await api.find(`/accounts/${id}/workers/domains?hostname=${domain}`, domains, true);
  const use = uses?.find(({ hostname }) => hostname === domain);
  if (use?.service === gateway) return domain;
  if (use)
    throw new Stop(
      `${domain} is the domain of another Worker, ${use.service}.`,
      "Choose another host, or remove it from that Worker first.",
    );
  const labels = domain.split(".");
  for (let at = 0; at < labels.length - 1; at++) {
    const zones = await api.find(`/zones?name=${labels.slice(at).join(".")}`, named, true);
    if (!zones) return domain;
    if (!zones[0]) continue;
    const records = await api.find(`/zones/${zones[0].id}/dns_records?name=${domain}`, z.array(z.object({ type: z.string() })), true);
    if (records?.[0])
      throw new Stop(
        `${domain} has a DNS record already (${records[0].type}).`,
        "Choose another host, or delete the record in the Cloudflare dashboard: the deployment would take it over.",
      );
    return domain;
  }
  throw new Stop(
    `${domain} belongs to no domain of this account.`,
    'Add the domain in the Cloudflare dashboard ("Add a domain") and point its name servers there, or leave --domain out.',
  );
}

/** Stops if the chosen jurisdiction differs from that of an existing resource: it cannot be changed for a database, a bucket or an object. */
export function checkJurisdiction(gateway: string, { databases, jurisdiction }: Inventory, choices: Choices): void {
  const wanted = choices.jurisdiction;
  if (databases.size === 0 || wanted === jurisdiction) return;
  throw new Stop(
    jurisdiction === undefined
      ? `${gateway} was created without a jurisdiction, and that cannot be changed.`
      : `${gateway} is in the jurisdiction ${jurisdiction}, and that cannot be changed.`,
    jurisdiction === undefined
      ? `Leave --jurisdiction out, or deploy a second gateway inside with --env ${wanted} --jurisdiction ${wanted} and move your callers there.`
      : `Give --jurisdiction ${jurisdiction}, or deploy a second gateway elsewhere with --env.`,
  );
}

/** The account's plan, as a line for the operator. Stops on the Free plan unless that was chosen. */
export async function checkPlan({ api, id }: Account, choices: Choices): Promise<string> {
  const plans = await api.find(
    `/accounts/${id}/subscriptions`,
    z.array(z.object({ rate_plan: z.nullish(z.object({ id: z.optional(z.string()), public_name: z.optional(z.string()) })) })),
    true,
  );
  if (!plans) return "not readable with these credentials; the gateway needs Workers Paid, the Free plan ends requests after 10 ms of CPU";
  const names = plans.map((plan) => `${plan.rate_plan?.id ?? ""} ${plan.rate_plan?.public_name ?? ""}`.toLowerCase());
  if (names.some((name) => (name.includes("workers") && !name.includes("free")) || name.includes("enterprise")))
    return choices.freePlan ? "Workers Paid, deployed as on the Free plan; --no-free ends that" : "Workers Paid";
  if (!choices.freePlan) throw freePlan();
  return "Workers Free, to try it: requests end after 10 ms of CPU, 10,000 queue operations a day, 500 MB a database";
}
