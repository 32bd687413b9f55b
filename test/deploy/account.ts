/** The state of an emulated Cloudflare account: created resources, uploaded scripts and settings. */

import { randomUUID } from "node:crypto";

/** A binding as wrangler uploads it. */
export interface Binding {
  type: string;
  name: string;
  [field: string]: unknown;
}

/** A module of an uploaded script. */
export interface Module {
  name: string;
  type: string;
  content: Uint8Array;
}

/** One uploaded version of a Worker. */
export interface Version {
  id: string;
  mainModule: string;
  modules: Module[];
  metadata: Record<string, unknown>;
  /** Without secrets, which belong to the Worker. */
  bindings: Binding[];
}

export interface Worker {
  secrets: Map<string, string>;
  versions: Version[];
  /** The id of the deployed version; undefined before the first deployment. */
  deployed: string | undefined;
  /** True if the Worker has a workers.dev address. */
  hasSubdomain: boolean;
  /** True if each version has an address of its own. */
  hasPreviews: boolean;
  /** The tag of the newest applied migration of its Durable Objects. */
  migrationTag: string | undefined;
  /** When its objects change to the code of the last deployment. */
  updateStrategy: unknown;
  /** The classes of its Durable Objects. */
  classes: Set<string>;
}

export interface Bucket {
  location: string | undefined;
  jurisdiction: string | undefined;
  rules: unknown[];
  files: Map<string, string>;
}

export interface Queue {
  id: string;
  jurisdiction: string | undefined;
  consumers: { consumer_id: string; script: string; body: Record<string, unknown> }[];
}

export interface Database {
  name: string;
  location: string | undefined;
  jurisdiction: string | undefined;
  /** "auto": replicas near the callers answer reads. */
  replication: string;
}

/** Migrations of Durable Objects as wrangler uploads them. */
export interface Migrations {
  old_tag?: string;
  new_tag?: string;
  steps?: { new_sqlite_classes?: string[] }[];
}

/** The classes that these migrations create. */
export const createdClasses = (migrations: Migrations | undefined): string[] =>
  migrations?.steps?.flatMap(({ new_sqlite_classes: created }) => created ?? []) ?? [];

/** The differences from a fully configured account. */
export interface Shortcomings {
  hasR2: boolean;
  subdomain: string | undefined;
  /** Undefined if the credentials may not read it. */
  plan: string | undefined;
  /** Permissions that the credentials lack, by the first segment of the path. */
  forbidden: string[];
  zones: string[];
  /** False: a token without Zone:Read, for which the list of zones is empty. */
  readsZones: boolean;
  email: string | undefined;
  accounts: { id: string; name: string }[];
}

export const accountId = "0123456789abcdef0123456789abcdef";
export const token = "emulated-token-of-the-operator";

/** An account without deployments. */
export class Account {
  readonly databases = new Map<string, Database>();
  /** Files that were uploaded for imports, by their MD5. */
  readonly uploads = new Map<string, string>();
  readonly buckets = new Map<string, Bucket>();
  readonly queues = new Map<string, Queue>();
  readonly workers = new Map<string, Worker>();
  /** Host -> Worker. */
  readonly domains = new Map<string, string>();
  /** Every version that was deployed, with the secrets that its Worker had at that moment. */
  readonly deployments: { worker: string; secrets: string[] }[] = [];
  /** Hosts with DNS records of other services. */
  readonly records = new Set<string>();
  readonly settings: Shortcomings = {
    hasR2: true,
    subdomain: "acme",
    plan: "workers_paid",
    forbidden: [],
    zones: ["example.com"],
    readsZones: true,
    email: "operator@example.com",
    accounts: [{ id: accountId, name: "Acme" }],
  };

  /** The Worker that serves a host. */
  workerOn(host: string): string | undefined {
    const name = host.endsWith(`.${this.settings.subdomain}.workers.dev`) ? host.split(".")[0] : undefined;
    return name !== undefined && this.workers.get(name)?.hasSubdomain ? name : this.domains.get(host);
  }

  /** The deployed version of a Worker. */
  versionOf(name: string): Version | undefined {
    const worker = this.workers.get(name);
    return worker?.versions.find(({ id }) => id === worker.deployed);
  }

  /** The lasting state, without versions and ids made at upload: equal before and after a deployment without changes. */
  snapshot(): unknown {
    return {
      databases: [...this.databases],
      buckets: [...this.buckets].map(([name, { location, jurisdiction, rules }]) => ({ name, location, jurisdiction, rules })),
      queues: [...this.queues].map(([name, queue]) => ({ name, ...queue })),
      domains: [...this.domains],
      workers: [...this.workers].map(([name, { secrets, hasSubdomain, migrationTag }]) => ({
        name,
        secrets: [...secrets],
        hasSubdomain,
        migrationTag,
        bindings: this.versionOf(name)?.bindings,
      })),
    };
  }

  /** The names of all resources. */
  names(): string[] {
    return [
      ...[...this.databases.values()].map(({ name }) => name),
      ...this.buckets.keys(),
      ...this.queues.keys(),
      ...this.workers.keys(),
    ].sort();
  }

  worker(name: string): Worker {
    let worker = this.workers.get(name);
    if (!worker) {
      worker = {
        secrets: new Map(),
        versions: [],
        deployed: undefined,
        hasSubdomain: false,
        hasPreviews: true,
        migrationTag: undefined,
        updateStrategy: undefined,
        classes: new Set(),
      };
      this.workers.set(name, worker);
    }
    return worker;
  }

  /** Makes a version the one that answers. */
  deploy(name: string, version: string): void {
    const worker = this.worker(name);
    worker.deployed = version;
    this.deployments.push({ worker: name, secrets: [...worker.secrets.keys()].sort() });
  }

  /** Stores an uploaded script; `isDeployed` makes it the deployed version. */
  upload(name: string, modules: Module[], metadata: Record<string, unknown>, isDeployed: boolean): Version {
    const worker = this.worker(name);
    const inherited = this.versionOf(name)?.bindings ?? [];
    const given = (metadata["bindings"] as Binding[] | undefined) ?? [];
    for (const binding of given) if (binding.type === "secret_text") worker.secrets.set(binding.name, String(binding["text"]));
    const version: Version = {
      id: randomUUID(),
      mainModule: String(metadata["main_module"]),
      modules,
      metadata,
      bindings: given
        .filter(({ type }) => type !== "secret_text")
        .flatMap((binding) => (binding.type === "inherit" ? (inherited.find(({ name: one }) => one === binding.name) ?? []) : binding)),
    };
    const migrations = metadata["migrations"] as Migrations | undefined;
    if (migrations?.new_tag) worker.migrationTag = migrations.new_tag;
    for (const created of createdClasses(migrations)) worker.classes.add(created);
    worker.versions.push(version);
    if (isDeployed) this.deploy(name, version.id);
    return version;
  }
}
