/** The Workers' configurations: read from the wrangler.toml files, and derived for one account and environment. Writes no file. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "smol-toml";
import type { Unstable_RawConfig } from "wrangler";
import { declared } from "../support/variables.ts";
import { root } from "../support/wrangler.ts";
import { markPresets } from "./marks.ts";
import type { Choices } from "./options.ts";
import { gateway, type Part, parts } from "./parts.ts";
import { Stop } from "./stop.ts";

/** A wrangler.toml, parsed. */
export type Configuration = Unstable_RawConfig;

/** The variable of every deployed Worker with the name of its deployment, by which a machine without local state recognises it. */
export const markName = "DEPLOYMENT";

/** A Worker as it is deployed. */
export interface Worker {
  part: Part;
  /** Its name on the account. */
  name: string;
  configuration: Configuration;
}

/** Everything in a deployment, with its names on the account. */
export interface Deployment {
  /** The gateway's name, which identifies the deployment. */
  name: string;
  workers: Worker[];
  /** The names of the Workers that are left out. */
  leftOut: string[];
  databases: { name: string; migrationsDir: string | undefined }[];
  /** The bucket's binding, which selects its lifecycle rules. */
  buckets: { name: string; binding: string }[];
  queues: string[];
}

/** Reads the committed configuration of a Worker. */
const readConfiguration = (part: Part) => parse(readFileSync(join(root, part.config), "utf8")) as Configuration;

/** A name in an environment: `<name>-<environment>`. */
const named = (name: string, environment: string) => (environment === "" ? name : `${name}-${environment}`);

/** Builds the deployment of an environment from the committed configurations. Database ids come later (`withDatabaseIds`). */
export function deployment(environment: string, choices: Choices): Deployment {
  checkEnvironment(environment);
  const isAsked = (part: Part) => (choices.with as readonly string[] | undefined)?.includes(part.name) ?? false;
  const chosen = parts.filter((part) => (part.isAsked ? isAsked(part) : !choices.without?.includes(part.partOf ?? part.name)));
  const leftOut = parts.filter((part) => !chosen.includes(part)).map((part) => named(readConfiguration(part).name ?? "", environment));
  const name = named(readConfiguration(gateway).name ?? "", environment);
  const workers = chosen.map((part): Worker => {
    const derived = derive(readConfiguration(part), part, environment, choices, leftOut);
    const configuration = { ...derived, vars: { ...derived.vars, [markName]: name } };
    return { part, name: configuration.name ?? part.name, configuration };
  });
  const all = workers.map(({ configuration }) => configuration);
  const databases = new Map<string, string | undefined>();
  for (const { d1_databases: list } of all)
    for (const one of list ?? [])
      databases.set(one.database_name ?? "", databases.get(one.database_name ?? "") ?? one.migrations_dir ?? undefined);
  const buckets = new Map(all.flatMap(({ r2_buckets: list }) => (list ?? []).map((one) => [one.bucket_name ?? "", one.binding] as const)));
  return {
    name,
    workers,
    leftOut,
    databases: [...databases].map(([name, migrationsDir]) => ({ name, migrationsDir })),
    buckets: [...buckets].map(([name, binding]) => ({ name, binding })),
    queues: [...new Set(all.flatMap(queueNames))],
  };
}

/** Refuses an environment name that would give its gateway the name of the main environment's console. */
function checkEnvironment(environment: string): void {
  const names = parts.map((part) => readConfiguration(part).name ?? part.name);
  const taken = names.find((name) => environment !== "" && names.includes(named(name, environment)));
  if (taken !== undefined)
    throw new Stop(
      `--env ${environment} would give ${taken} the name of another Worker, ${named(taken, environment)}.`,
      "Choose another name for the environment, for example --env staging.",
    );
}

/** Every queue that a Worker sends to, consumes, or uses for dead letters. */
const queueNames = ({ queues }: Configuration): string[] => [
  ...(queues?.producers ?? []).map((producer) => producer.queue ?? ""),
  ...(queues?.consumers ?? []).flatMap((consumer) => [
    consumer.queue,
    ...(consumer.dead_letter_queue === undefined ? [] : [consumer.dead_letter_queue]),
  ]),
];

function derive(source: Configuration, part: Part, environment: string, choices: Choices, leftOut: string[]): Configuration {
  const folder = dirname(join(root, part.config));
  const { domain, jurisdiction } = choices;
  const isPublic = source.workers_dev ?? false;
  const extra = Object.assign({}, ...(choices.with ?? []).map((name) => part.extras[name] ?? {})) as Configuration;
  const { limits, ...rest } = inEnvironment(source, environment, folder);
  const madeSecrets = Object.keys(part.madeSecrets);
  const marks = part.name === "gateway" ? markPresets[choices.marks ?? "none"] : {};
  return {
    ...rest,
    ...(limits && !choices.freePlan && { limits }),
    observability: { ...source.observability, ...(choices.traces !== undefined && { traces: toTraces(choices) }) },
    ...extra,
    ...(source.vars && { vars: { ...source.vars, ...marks } }),
    name: named(source.name ?? part.name, environment),
    main: join(folder, source.main ?? ""),
    // A Worker has one public address: a domain of the operator, or workers.dev.
    workers_dev: isPublic && !hasDomain(domain),
    preview_urls: false,
    // `/readyz` names the version, so that a run can wait for it.
    ...(isPublic && { version_metadata: { binding: "VERSION" } }),
    ...(isPublic && hasDomain(domain) && { routes: [{ pattern: domain, custom_domain: true }] }),
    ...(madeSecrets.length > 0 && { secrets: { required: madeSecrets } }),
    ...(rest.r2_buckets && jurisdiction && { r2_buckets: rest.r2_buckets.map((one) => ({ ...one, jurisdiction })) }),
    ...(rest.services && { services: rest.services.filter(({ service }) => !leftOut.includes(service)) }),
  };
}

/** A copy of a configuration in which each name of something on the account is that of the environment, and paths are absolute. */
function inEnvironment(source: Configuration, environment: string, folder: string): Configuration {
  const rename = (name: string) => named(name, environment);
  const changes: Record<string, (value: string) => string> = {
    database_name: rename,
    bucket_name: rename,
    queue: rename,
    dead_letter_queue: rename,
    service: rename,
    script_name: rename,
    // A rate limit namespace belongs to the account: two environments with the same id would share a counter.
    namespace_id: (id) => String(Number(id) + offset(environment)),
    migrations_dir: (path) => join(folder, path),
  };
  return JSON.parse(JSON.stringify(source), (field, value: unknown) =>
    typeof value === "string" && Object.hasOwn(changes, field) ? changes[field]?.(value) : value,
  ) as Configuration;
}

/** Where the platform's traces go: to its own store, and to the destinations that are named. */
const toTraces = ({ traces = 0, tracesTo = [] }: Choices) => ({
  enabled: traces > 0,
  ...(traces > 0 && { head_sampling_rate: traces }),
  ...(tracesTo.length > 0 && { destinations: tracesTo }),
});

export const hasDomain = (domain: string | undefined): domain is string => domain !== undefined && domain !== "none";

/** A number for each environment, 0 for the main one: FNV-1a of its name, in steps that leave room for the ids. */
function offset(environment: string): number {
  if (environment === "") return 0;
  let hash = 0x811c9dc5;
  for (const character of environment) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
  return (((hash >>> 0) % 20_000) + 1) * 10_000;
}

/** The configuration with the account's database ids. */
export const withDatabaseIds = (configuration: Configuration, ids: Map<string, string>): Configuration => ({
  ...configuration,
  ...(configuration.d1_databases && {
    d1_databases: configuration.d1_databases.map((one) => ({ ...one, database_id: ids.get(one.database_name ?? "") ?? "" })),
  }),
});

/** The names of variables and secrets that a Worker reads. */
export function declaredNames(part: Part): Set<string> {
  // Set by --jurisdiction alone, together with what it has to agree with.
  return new Set([...declared(part.declarations)].filter((name) => name !== "JURISDICTION"));
}
