/** The resources of a deployment that an account has, and those still to be created: databases, buckets with their rules, queues. */

import { dirname, join } from "node:path";
import * as z from "zod/mini";
import { migrationNames } from "../support/migrations.ts";
import type { Account } from "./account.ts";
import { ApiRefusal } from "./api.ts";
import type { Deployment } from "./configuration.ts";
import { appliedMigrations } from "./migrations.ts";
import { expiringPrefixes } from "./parts.ts";
import type { Choices } from "./options.ts";
import type { Run } from "./run.ts";
import { writePrivate } from "./state.ts";

const rule = z.looseObject({ id: z.string() });
type Rule = z.infer<typeof rule>;
const day = 86_400;

/** The existing resources. */
export interface Inventory {
  /** Ids by name. */
  databases: Map<string, string>;
  /** The databases' jurisdiction; undefined if they have none or do not exist yet. */
  jurisdiction: string | undefined;
  /** The databases with read replicas. */
  replicated: Set<string>;
  /** File names by database. */
  pendingMigrations: Map<string, string[]>;
  /** Lifecycle rules by bucket. */
  buckets: Map<string, Rule[]>;
  queues: Set<string>;
  /** The names of the secrets that are set, by Worker. */
  workers: Map<string, Set<string>>;
  /** The newest applied migration of the objects' classes, by Worker. */
  classTags: Map<string, string>;
  /** The gateway's domains after `--domain none`. */
  leftDomains: { id: string; hostname: string }[];
}

export const domains = z.array(z.object({ id: z.string(), hostname: z.string(), service: z.string() }));

/** The domains of the gateway's Worker, with their ids; none if the credentials may not read them. */
const readDomains = async ({ api, id }: Account, gateway: string) =>
  (await api.find(`/accounts/${id}/workers/domains?service=${gateway}`, domains, true))?.filter(({ service }) => service === gateway) ?? [];

const databaseView = z.object({
  jurisdiction: z.nullish(z.string()),
  read_replication: z.nullish(z.object({ mode: z.string() })),
});

/**
 * Reads the state of every resource of the deployment. The jurisdiction is that of the buckets, used if there is no database to read it from.
 */
export async function takeInventory(account: Account, deployment: Deployment, { jurisdiction, domain }: Choices): Promise<Inventory> {
  const { api } = account;
  const base = `/accounts/${account.id}`;
  const inventory: Inventory = {
    databases: new Map(),
    jurisdiction: undefined,
    replicated: new Set(),
    pendingMigrations: new Map(),
    buckets: new Map(),
    queues: new Set(),
    workers: new Map(),
    classTags: new Map(),
    leftDomains: domain === "none" ? await readDomains(account, deployment.name) : [],
  };
  for (const { name, migrationsDir } of deployment.databases) {
    const id = await databaseId(account, name);
    if (id !== undefined) {
      inventory.databases.set(name, id);
      const found = await api.get(`${base}/d1/database/${id}`, databaseView);
      inventory.jurisdiction = found.jurisdiction ?? undefined;
      if (found.read_replication?.mode === "auto") inventory.replicated.add(name);
    }
    const applied = new Set(id === undefined ? [] : await appliedMigrations(api, `${base}/d1/database/${id}`));
    const files = migrationsDir === undefined ? [] : await migrationNames(migrationsDir);
    inventory.pendingMigrations.set(name, files.filter((file) => !applied.has(file))); // prettier-ignore
  }
  const files = api.within(inventory.databases.size > 0 ? inventory.jurisdiction : jurisdiction);
  for (const { name } of deployment.buckets) {
    if (!(await files.find(`${base}/r2/buckets/${name}`, z.unknown(), false).then((found) => found !== undefined))) continue;
    const found = await files.find(`${base}/r2/buckets/${name}/lifecycle`, z.object({ rules: z.optional(z.array(rule)) }));
    inventory.buckets.set(name, found?.rules ?? []);
  }
  for (const name of deployment.queues) if (await findQueue(account, name)) inventory.queues.add(name);
  for (const { name, configuration } of deployment.workers) {
    const secrets = await api.find(`${base}/workers/scripts/${name}/secrets`, z.array(z.object({ name: z.string() })));
    if (!secrets) continue;
    inventory.workers.set(name, new Set(secrets.map((secret) => secret.name)));
    if (configuration.migrations === undefined) continue;
    const tag = (await api.find(`${base}/workers/services/${name}`, service))?.default_environment.script.migration_tag;
    if (tag) inventory.classTags.set(name, tag);
  }
  return inventory;
}

const service = z.object({
  default_environment: z.object({ script: z.object({ migration_tag: z.nullish(z.string()) }) }),
});
const deployments = z.object({ deployments: z.array(z.object({ versions: z.array(z.object({ version_id: z.string() })) })) });

/** The id of the version of a Worker that was deployed last. */
export async function deployedVersion({ api, id }: Account, worker: string): Promise<string | undefined> {
  const { deployments: [last] } = await api.get(`/accounts/${id}/workers/scripts/${worker}/deployments`, deployments); // prettier-ignore
  return last?.versions[0]?.version_id;
}

const queueList = z.array(z.object({ queue_id: z.string(), queue_name: z.string() }));
const consumerList = z.array(z.object({ script: z.optional(z.string()), service: z.optional(z.string()) }));

const findQueue = async ({ api, id }: Account, name: string) =>
  (await api.list(`/accounts/${id}/queues?name=${name}`, queueList)).find((queue) => queue.queue_name === name);

/** True if the Worker consumes the queue. */
export async function isConsumer(account: Account, queue: string, worker: string): Promise<boolean> {
  const found = await findQueue(account, queue);
  if (!found) return false;
  const consumers = await account.api.find(`/accounts/${account.id}/queues/${found.queue_id}/consumers`, z.nullable(consumerList));
  return consumers?.some(({ script, service }) => (script ?? service) === worker) ?? false;
}

const databaseList = z.array(z.object({ uuid: z.string(), name: z.string() }));

/** The names among these Workers that are on the account. */
export async function existingWorkers({ api, id }: Account, names: string[]): Promise<string[]> {
  const present = new Set((await api.get(`/accounts/${id}/workers/scripts`, z.array(z.object({ id: z.string() })))).map((one) => one.id));
  return names.filter((name) => present.has(name));
}

/** The id of a database by its name, or undefined. */
export async function databaseId({ api, id }: Account, name: string): Promise<string | undefined> {
  // The API's filter matches parts of names too.
  const found = await api.list(`/accounts/${id}/d1/database?name=${name}`, databaseList);
  return found.find((database) => database.name === name)?.uuid;
}

const toFolder = (prefix: string) => prefix.replaceAll("/", "");

/** True for a rule of ours, with the days of any release. */
const isOurs = (binding: string, { id }: Rule): boolean =>
  Object.keys(expiringPrefixes[binding] ?? {}).some((prefix) => new RegExp(`^(one-day|\\d+-days)-${toFolder(prefix)}$`).test(id));

/** The rules that a bucket should have: ours in addition to existing rules of the operator. */
function wantedRules(binding: string, present: Rule[]): Rule[] {
  const ours = Object.entries(expiringPrefixes[binding] ?? {}).map(([prefix, days]) => ({
    id: `${days === 1 ? "one-day" : `${days}-days`}-${toFolder(prefix)}`,
    enabled: true,
    conditions: { prefix },
    deleteObjectsTransition: { condition: { type: "Age", maxAge: days * day } },
  }));
  return [...present.filter((one) => !isOurs(binding, one)), ...ours];
}

/** True if one of the rules is ours, whatever the operator has changed in it. */
export const hasOurRule = (present: Rule[]): boolean =>
  Object.keys(expiringPrefixes).some((binding) => present.some((one) => isOurs(binding, one)));

/** True if a bucket has all of these rules. */
const hasRules = (binding: string, present: Rule[]): boolean =>
  wantedRules(binding, present).every((wanted) => present.some((one) => isSame(one, wanted)));

/** True if `present` has every field of `wanted` with the same value; the API adds other fields. */
function isSame(present: unknown, wanted: unknown): boolean {
  if (typeof wanted !== "object" || wanted === null) return present === wanted;
  if (typeof present !== "object" || present === null) return false;
  return Object.entries(wanted).every(([name, value]) => isSame((present as Record<string, unknown>)[name], value));
}

/** One resource to create or to change. */
export interface Action {
  title: string;
  run: (run: Run) => Promise<string | undefined>;
}

/** The missing databases, buckets and queues, in the order of creation. `config` may be any derived configuration: wrangler reads the account from it. */
export function missing(inventory: Inventory, deployment: Deployment, { region, jurisdiction }: Choices, config: string): Action[] {
  const inside = jurisdiction === undefined ? [] : ["--jurisdiction", jurisdiction];
  const near = jurisdiction !== undefined ? inside : region === undefined ? [] : ["--location", region];
  const where = jurisdiction !== undefined ? `, inside ${jurisdiction}` : region === undefined ? "" : ` in ${region}`;
  return [
    ...deployment.databases
      .filter(({ name }) => !inventory.databases.has(name))
      .map(({ name }) => ({
        title: `create the database ${name}${where}`,
        run: async (run: Run) => void (await run.wrangler("d1", "create", name, ...near, "-c", config)),
      })),
    ...deployment.buckets.flatMap(({ name, binding }) => {
      const present = inventory.buckets.get(name);
      const actions: Action[] = [];
      if (!present)
        actions.push({
          title: `create the bucket ${name}${where}`,
          run: async (run) => void (await run.wrangler("r2", "bucket", "create", name, ...near, "-c", config)),
        });
      if (!hasRules(binding, present ?? []))
        actions.push({
          title: `set the lifecycle rules of ${name}`,
          run: (run) => setRules(run, name, wantedRules(binding, present ?? []), [...inside, "-c", config]),
        });
      return actions;
    }),
    ...deployment.queues
      .filter((name) => !inventory.queues.has(name))
      .map((name) => ({
        title: `create the queue ${name}${jurisdiction === undefined ? "" : where}`,
        run: async (run: Run) => void (await run.wrangler("queues", "create", name, ...inside, "-c", config)),
      })),
  ];
}

async function setRules(run: Run, bucket: string, rules: Rule[], options: string[]): Promise<undefined> {
  const file = join(dirname(options.at(-1) ?? ""), `${bucket}-lifecycle.json`);
  await writePrivate(file, JSON.stringify({ rules }));
  await run.wrangler("r2", "bucket", "lifecycle", "set", bucket, "--file", file, "--force", ...options);
}

/** Takes a domain away from its Worker, with its DNS record and certificate. Wrangler has no command for that; it may be repeated. */
export async function detachDomain({ api, id }: Account, domainId: string): Promise<undefined> {
  await api.call("DELETE", `/accounts/${id}/workers/domains/${domainId}`);
}

/** Switches on read replicas of a database. Wrangler has no command for that; it may be repeated. */
export async function switchOnReplicas({ api, id }: Account, databaseId: string): Promise<undefined> {
  await api.call("PUT", `/accounts/${id}/d1/database/${databaseId}`, { read_replication: { mode: "auto" } });
}

/** Deletes every file of a bucket. Wrangler has no command for that. */
export async function emptyBucket(account: Account, bucket: string, jurisdiction: string | undefined): Promise<number> {
  const { id } = account;
  const api = account.api.within(jurisdiction);
  const base = `/accounts/${id}/r2/buckets/${bucket}/objects`;
  const page = z.array(z.object({ key: z.string() }));
  for (let count = 0; ;) {
    const keys = page.parse((await api.call("GET", `${base}?per_page=500`)).result).map(({ key }) => key);
    if (keys.length === 0) return count;
    // A few at a time, because of the API's rate limit.
    for (let at = 0; at < keys.length; at += 8)
      await Promise.all(
        keys.slice(at, at + 8).map((key) =>
          api.call("DELETE", `${base}/${key.split("/").map(encodeURIComponent).join("/")}`).catch((error: unknown) => {
            if (!(error instanceof ApiRefusal && error.status === 404)) throw error;
          }),
        ),
      );
    count += keys.length;
  }
}
