/** Checks that an account can take a deployment: each missing condition is reported with its remedy. Changes nothing. */

import * as z from "zod/mini";
import { type Account, named } from "./account.ts";
import { ApiRefusal, type CloudflareApi } from "./api.ts";
import { type Deployment, hasDomain } from "./configuration.ts";
import type { Choices } from "./options.ts";
import { domains, type Inventory } from "./resources.ts";
import { Stop, freePlan, stopFor } from "./stop.ts";

const anything = z.unknown();

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
 * If the API refuses to list zones, the check of the zone is left to wrangler. Without Zone:Read it lists none, as for an account without a domain.
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
    const zones = await api.find(`/zones?name=${labels.slice(at).join(".")}&account.id=${id}`, named, true);
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
  if ((await api.get(`/zones?per_page=5&account.id=${id}`, named)).length === 0)
    throw new Stop(
      `These credentials see no domain of this account, so it is not known whether ${domain} belongs to one.`,
      'Give the token "Zone: Read" and "DNS: Read" for the domain. If the account has no domain yet, add it in the Cloudflare dashboard ("Add a domain"), or leave --domain out.',
    );
  throw new Stop(
    `${domain} belongs to no domain of this account that these credentials may read.`,
    'Give the token "Zone: Read" for the domain, or add the domain in the Cloudflare dashboard ("Add a domain") and point its name servers there, or leave --domain out.',
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

/** Stops if another region is chosen than at the start: data does not move. Only the checkout that deployed first knows the region. */
export function checkRegion(gateway: string, { databases }: Inventory, before: Choices | undefined, { region }: Choices): void {
  if (databases.size === 0 || !before || region === before.region) return;
  throw new Stop(
    `${gateway} was created ${before.region === undefined ? "without --region" : `in ${before.region}`}, and that cannot be changed.`,
    `Leave --region out, or deploy a second gateway with --env ${region} --region ${region} and move your callers there.`,
  );
}

/**
 * Stops if a Worker on the account has a class of objects that this revision does not know: the platform refuses to deploy it, and only after
 * the migrations and the other Workers. There is no way back over a release that adds a class.
 */
export function checkClasses({ workers }: Deployment, { classTags }: Inventory): void {
  for (const { name, configuration } of workers) {
    const tag = classTags.get(name);
    if (tag !== undefined && !configuration.migrations?.some((one) => one.tag === tag))
      throw new Stop(
        `${name} runs a newer release, which added a class of objects (${tag}) that this revision does not know. There is no way back over it: roll forward only.`,
        "Check out that release or a newer one, with the fault mended, and deploy it. Nothing was changed.",
      );
  }
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
  return "Workers Free, to try it: requests end after 10 ms of CPU or 50 queries of the database, 10,000 queue operations a day, 500 MB a database";
}
