/** Cloudflare's API as wrangler uses it, for an emulated account: a server on 127.0.0.1 that can fail each call. */

import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { type Account, accountId, createdClasses, type Migrations, type Module, token } from "./account.ts";
import type { Runtime } from "./runtime.ts";

/** An error answer of the API. */
class Refusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

interface Call {
  groups: string[];
  /** Where R2 looks for buckets. */
  jurisdiction: string | undefined;
  query: URLSearchParams;
  json: () => Record<string, unknown>;
  form: () => Promise<FormData>;
  body: Buffer;
  /** The API's own address. */
  url: string;
}

type Handler = (account: Account, call: Call, runtime: Runtime) => unknown;
/** A list, answered as one page. */
class Listed {
  readonly items: unknown[];
  readonly info: object;
  constructor(items: unknown[], info: object = { page: 1, per_page: 100, count: items.length, total_count: items.length, total_pages: 1 }) {
    this.items = items;
    this.info = info;
  }
}

/** The page of a list that a call asks for: at most 50 entries, 20 without a number. */
function paged(all: unknown[], query: URLSearchParams, saysPages = true): Listed {
  const size = Math.min(Number(query.get("per_page") ?? 20), 50);
  const page = Number(query.get("page") ?? 1);
  const items = all.slice((page - 1) * size, page * size);
  const pages = Math.ceil(all.length / size);
  return new Listed(items, {
    page,
    per_page: size,
    count: items.length,
    total_count: all.length,
    ...(saysPages && { total_pages: pages }),
  });
}

/** Makes a call fail before or after it takes effect, or because there were too many. */
type Fault = (call: string) => "before" | "after" | "throttled" | undefined;

export interface EmulatedApi {
  /** The value of CLOUDFLARE_API_BASE_URL. */
  url: string;
  /** Every call: method and path, with ids replaced by placeholders. */
  calls: string[];
  fault: { current: Fault };
  close(): void;
}

/** Starts the server for an account. */
export async function startApi(account: Account, runtime: Runtime): Promise<EmulatedApi> {
  const calls: string[] = [];
  const fault = { current: (() => undefined) as Fault };
  const server = createServer((incoming, outgoing) => {
    const answer = (status: number, body: object) => {
      outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    void (async () => {
      const body = await readBody(incoming);
      const url = new URL(incoming.url ?? "", "http://api");
      const path = url.pathname.replace("/client/v4", "");
      const call = `${incoming.method} ${path.replace(`/accounts/${accountId}`, "")}`
        .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}")
        .replace(/^(PUT \/upload\/).*/, "$1{etag}");
      calls.push(call);
      const scripted = fault.current(call.endsWith("/import") ? `${call} (${String(JSON.parse(body.toString()).action)})` : call);
      try {
        if (scripted === "throttled") {
          outgoing.setHeader("retry-after", "1");
          throw new Refusal(429, 10_100, "More than 1200 requests per 300 seconds reached.");
        }
        if (scripted === "before") throw new Refusal(400, 9_999, "scripted fault");
        if (path.startsWith("/upload/")) {
          outgoing.setHeader("etag", `"${storeUpload(account, body)}"`);
          if (scripted === "after") throw new Refusal(400, 9_999, "scripted fault after the effect");
          return answer(200, {});
        }
        checkAccess(account, incoming, path);
        const result = await handle(account, runtime, incoming, url, path, body);
        if (scripted === "after") throw new Refusal(400, 9_999, "scripted fault after the effect");
        const list = result instanceof Listed ? result.items : undefined;
        answer(200, {
          success: true,
          errors: [],
          messages: [],
          result: list ?? result ?? null,
          ...(result instanceof Listed && { result_info: result.info }),
        });
      } catch (error) {
        if (!(error instanceof Refusal)) calls.push(`!! ${call} ${String(error)}`);
        const { status, code, message } = error instanceof Refusal ? error : new Refusal(500, 10_001, String(error));
        answer(status, { success: false, errors: [{ code, message }], messages: [], result: null });
      }
    })();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`,
    calls,
    fault,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Stores the file of an import, like the storage that the signed address belongs to. Returns its MD5. */
function storeUpload({ uploads }: Account, body: Buffer): string {
  const md5 = createHash("md5").update(body).digest("hex");
  uploads.set(md5, body.toString());
  return md5;
}

function checkAccess(account: Account, incoming: IncomingMessage, path: string): void {
  if (!/^Bearer [\w-]{20,}$/.test(incoming.headers.authorization ?? "")) throw new Refusal(400, 6003, "Invalid request headers");
  if (incoming.headers.authorization !== `Bearer ${token}`) throw new Refusal(401, 10_000, "Authentication error");
  if (account.settings.forbidden.some((part) => path.startsWith(`/accounts/${accountId}/${part}`) || path.startsWith(`/${part}`)))
    throw new Refusal(403, 10_000, "Authentication error");
}

async function handle(
  account: Account,
  runtime: Runtime,
  incoming: IncomingMessage,
  url: URL,
  path: string,
  body: Buffer,
): Promise<unknown> {
  for (const [route, handler] of routes) {
    const [method, pattern = ""] = route.split(" ");
    const match =
      method === incoming.method &&
      new RegExp(
        `^${pattern
          .replace("ACC", `/accounts/${accountId}`)
          .replaceAll(/(?<!\*)\*(?!\*)/g, "([^/]+)")
          .replace("**", "(.+)")}$`,
      ).exec(path);
    if (!match) continue;
    const form = () =>
      new Response(new Uint8Array(body), { headers: { "content-type": incoming.headers["content-type"] ?? "" } }).formData();
    const json = () => JSON.parse(body.toString()) as Record<string, unknown>;
    const jurisdiction = incoming.headers["cf-r2-jurisdiction"]?.toString() || undefined;
    const groups = match.slice(1).map(decodeURIComponent);
    return handler(
      account,
      { groups, jurisdiction, query: url.searchParams, json, form, body, url: `http://${incoming.headers.host}/client/v4` },
      runtime,
    );
  }
  throw new Error(`the emulation does not know ${incoming.method} ${path}`);
}

/** The value, or a 404 with this code. */
function found<T>(value: T | undefined, code: number): T {
  if (value === undefined) throw new Refusal(404, code, "not found");
  return value;
}

const checkR2 = (account: Account) => {
  if (!account.settings.hasR2) throw new Refusal(403, 10_042, "Please enable R2 through the Cloudflare Dashboard.");
};
/** The bucket named by the first group, if it is in the call's jurisdiction. */
const openBucket = (account: Account, { groups: [name = ""], jurisdiction }: Call) => {
  checkR2(account);
  const bucket = found(account.buckets.get(name), 10_006);
  return found(bucket.jurisdiction === jurisdiction ? bucket : undefined, 10_006);
};
const openDatabase = (account: Account, nameOrId: string) => {
  const id = account.databases.has(nameOrId) ? nameOrId : [...account.databases].find(([, { name }]) => name === nameOrId)?.[0];
  const database = found(account.databases.get(found(id, 7404)), 7404);
  const { name, jurisdiction = null, replication } = database;
  return { uuid: id!, name, version: "production", jurisdiction, read_replication: { mode: replication } };
};
const queueView = ([name, { id, consumers }]: [string, { id: string; consumers: { consumer_id: string; script: string }[] }]) => ({
  queue_id: id,
  queue_name: name,
  consumers: consumers.map(({ consumer_id, script }) => ({ consumer_id, script, type: "worker" })),
  producers: [],
});
const queueById = (account: Account, id: string) =>
  found(
    [...account.queues.values()].find((queue) => queue.id === id),
    11_000,
  );
const readSubdomain = (account: Account, name: string) => {
  const { hasSubdomain, hasPreviews } = found(account.workers.get(name), 10_007);
  return { enabled: hasSubdomain, previews_enabled: hasPreviews };
};

/** Stores an uploaded script like the platform, with its checks. */
async function upload(account: Account, call: Call, isDeployed: boolean) {
  const [name = ""] = call.groups;
  const form = await call.form();
  const text = form.get("metadata");
  const metadata = JSON.parse(typeof text === "string" ? text : "{}") as Record<string, unknown>;
  const modules: Module[] = [];
  for (const [field, value] of form) {
    if (field === "metadata" || typeof value === "string") continue;
    modules.push({ name: value.name, type: value.type, content: new Uint8Array(await value.arrayBuffer()) });
  }
  const bindings = (metadata["bindings"] ?? []) as Record<string, unknown>[];
  if (metadata["limits"] && account.settings.plan === "free")
    throw new Refusal(400, 100_328, "CPU limits are not supported for the Free plan.");
  const worker = account.workers.get(name);
  const migrations = metadata["migrations"] as Migrations | undefined;
  if (migrations && migrations.old_tag !== worker?.migrationTag) throw new Refusal(412, 10_079, "Migration tag precondition failed");
  const present = createdClasses(migrations).find((created) => worker?.classes.has(created));
  if (present !== undefined)
    throw new Refusal(
      400,
      10_074,
      `Cannot apply new-sqlite-class migration to class '${present}' that is already depended on by existing Durable Objects`,
    );
  for (const binding of bindings) {
    const isThere =
      worker?.secrets.has(String(binding["name"])) || account.versionOf(name)?.bindings.some((one) => one.name === binding["name"]);
    if (binding["type"] === "inherit" && !isThere)
      throw new Refusal(
        400,
        10_057,
        `Inherit binding for '${String(binding["name"])}' failed because previous deployment does not have a binding by that name.`,
      );
    if (binding["type"] === "d1" && !account.databases.has(String(binding["id"] ?? binding["database_id"])))
      throw new Refusal(400, 10_181, "binding of type d1 must have a valid `id` specified");
    const bucket = binding["type"] === "r2_bucket" ? account.buckets.get(String(binding["bucket_name"])) : undefined;
    if (binding["type"] === "r2_bucket" && (!bucket || bucket.jurisdiction !== binding["jurisdiction"]))
      throw new Refusal(400, 10_085, `R2 bucket '${String(binding["bucket_name"])}' not found.`);
    if (binding["type"] === "queue" && !account.queues.has(String(binding["queue_name"])))
      throw new Refusal(400, 100_109, `Queue ${String(binding["queue_name"])} does not exist.`);
    if (binding["type"] === "service" && !account.workers.has(String(binding["service"])))
      throw new Refusal(
        400,
        10_143,
        `Could not resolve service binding '${String(binding["name"])}': ${String(binding["service"])} not found.`,
      );
  }
  const version = account.upload(name, modules, metadata, isDeployed);
  return {
    id: version.id,
    deployment_id: version.id.replaceAll("-", ""),
    startup_time_ms: 10,
    etag: version.id,
    resources: { script: { etag: version.id } },
  };
}

function putConsumer(account: Account, queueId: string, consumerId: string, body: Record<string, unknown>) {
  const queue = queueById(account, queueId);
  const script = String(body["script_name"]);
  found(account.workers.get(script), 10_007);
  const dead = body["dead_letter_queue"];
  if (typeof dead === "string" && !account.queues.has(dead)) throw new Refusal(404, 11_000, "the dead letter queue does not exist");
  queue.consumers = [...queue.consumers.filter((one) => one.consumer_id !== consumerId), { consumer_id: consumerId, script, body }];
  return { consumer_id: consumerId };
}

const routes: [route: string, handler: Handler][] = [
  ["GET /user", ({ settings }) => found(settings.email === undefined ? undefined : { id: "user", email: settings.email }, 9109)],
  ["GET /user/tokens/verify", () => ({ id: "token", status: "active" })],
  ["GET /accounts", ({ settings }, { query }) => paged(settings.accounts, query)],
  ["GET /memberships", ({ settings }) => new Listed(settings.accounts.map((account) => ({ id: account.id, account })))],
  [
    "GET /zones",
    ({ settings }, { query }) =>
      paged(
        settings.zones
          .filter((name) => settings.readsZones && (!query.has("name") || name === query.get("name")))
          .map((name) => ({ id: `zone-${name}`, name })),
        query,
      ),
  ],
  ["GET /zones/*/dns_records", ({ records }, { query }) => new Listed(records.has(query.get("name") ?? "") ? [{ type: "A" }] : [])],
  [
    "GET ACC/subscriptions",
    ({ settings }) => {
      if (settings.plan === undefined) throw new Refusal(403, 10_000, "Authentication error");
      return new Listed(settings.plan === "free" ? [] : [{ id: "1", rate_plan: { id: settings.plan, public_name: "Workers Paid" } }]);
    },
  ],
  ["GET ACC/workers/subdomain", ({ settings }) => ({ subdomain: found(settings.subdomain, 10_007) })],
  ["GET ACC/workers/scripts", ({ workers }) => new Listed([...workers.keys()].map((id) => ({ id })))],
  [
    "GET ACC/workers/services/*",
    ({ workers }, { groups: [name = ""] }) => {
      const worker = found(workers.get(name), 10_090);
      return {
        id: name,
        default_environment: {
          environment: "production",
          script: { tag: `tag-${name}`, tags: [], last_deployed_from: "wrangler", migration_tag: worker.migrationTag },
        },
      };
    },
  ],
  [
    "DELETE ACC/workers/services/*",
    (account, { groups: [name = ""] }) => {
      found(account.workers.get(name), 10_090);
      if ([...account.queues.values()].some(({ consumers }) => consumers.some(({ script }) => script === name)))
        throw new Refusal(400, 10_064, "script still in use as a consumer for a queue");
      account.workers.delete(name);
      for (const [host, worker] of account.domains) if (worker === name) account.domains.delete(host);
    },
  ],
  ["GET ACC/workers/workers/*", (account, { groups: [name = ""] }) => ({ id: name, subdomain: readSubdomain(account, name) })],
  [
    "GET ACC/workers/domains",
    ({ domains }, { query }) =>
      new Listed(
        [...domains]
          .map(([hostname, service]) => ({ id: `domain-${hostname}`, hostname, service }))
          .filter((one) => (["hostname", "service"] as const).every((field) => !query.has(field) || query.get(field) === one[field])),
      ),
  ],
  ["DELETE ACC/workers/domains/domain-*", ({ domains }, { groups: [host = ""] }) => void domains.delete(host)],
  ["PUT ACC/workers/scripts/*", (account, call) => upload(account, call, true)],
  ["POST ACC/workers/scripts/*/versions", (account, call) => upload(account, call, false)],
  [
    "GET ACC/workers/scripts/*/secrets",
    ({ workers }, { groups: [name = ""] }) =>
      new Listed([...found(workers.get(name), 10_007).secrets.keys()].map((secret) => ({ name: secret, type: "secret_text" }))),
  ],
  [
    "GET ACC/workers/scripts/*/deployments",
    ({ workers }, { groups: [name = ""] }) => {
      const worker = found(workers.get(name), 10_007);
      return {
        deployments: worker.deployed === undefined ? [] : [{ id: "d", versions: [{ version_id: worker.deployed, percentage: 100 }] }],
      };
    },
  ],
  [
    "POST ACC/workers/scripts/*/deployments",
    (account, { groups: [name = ""], json }) => {
      const [version] = json()["versions"] as { version_id: string }[];
      found(account.workers.get(name), 10_007).updateStrategy = json()["code_update_strategy"];
      account.deploy(name, version?.version_id ?? "");
      return { id: "d" };
    },
  ],
  [
    "GET ACC/workers/scripts/*/versions/*",
    (_, { groups }) => ({ id: groups[1], resources: { bindings: [], script: {}, script_runtime: {} }, metadata: {} }),
  ],
  [
    "GET ACC/workers/scripts/*/settings",
    (account, { groups: [name = ""] }) => {
      found(account.workers.get(name), 10_007);
      return { bindings: account.versionOf(name)?.bindings ?? [] };
    },
  ],
  [
    // A change of secrets is a new version, which is deployed at once.
    "PATCH ACC/workers/scripts/*/secrets-bulk",
    (account, { groups: [name = ""], json }) => {
      const { secrets, versions } = found(account.workers.get(name), 10_007);
      for (const [secret, value] of Object.entries(json()["secrets"] as Record<string, { text: string } | null>))
        if (value) secrets.set(secret, value.text);
        else secrets.delete(secret);
      const version = { ...found(account.versionOf(name), 10_007), id: randomUUID() };
      versions.push(version);
      account.deploy(name, version.id);
      return {};
    },
  ],
  ["PATCH ACC/workers/scripts/*/script-settings", () => ({})],
  ["GET ACC/workers/scripts/*/subdomain", (account, { groups: [name = ""] }) => readSubdomain(account, name)],
  [
    "POST ACC/workers/scripts/*/subdomain",
    (account, { groups: [name = ""], json }) => {
      const worker = found(account.workers.get(name), 10_007);
      worker.hasSubdomain = json()["enabled"] === true;
      worker.hasPreviews = json()["previews_enabled"] !== false;
      return readSubdomain(account, name);
    },
  ],
  ["POST ACC/workers/scripts/*/domains/changeset", () => ({ added: [], removed: [], updated: [], conflicting: [] })],
  [
    "PUT ACC/workers/scripts/*/domains/records",
    (account, { groups: [name = ""], json }) => {
      for (const [host, worker] of account.domains) if (worker === name) account.domains.delete(host);
      for (const { hostname } of json()["origins"] as { hostname: string }[]) account.domains.set(hostname, name);
    },
  ],
  ["PUT ACC/workers/scripts/*/schedules", () => ({ schedules: [] })],
  ["GET ACC/storage/kv/namespaces", () => new Listed([])],
  [
    "GET ACC/d1/database",
    ({ databases }, { query }) =>
      paged(
        [...databases].filter(([, { name }]) => name.includes(query.get("name") ?? "")).map(([uuid, { name }]) => ({ uuid, name })),
        query,
        false,
      ),
  ],
  [
    "POST ACC/d1/database",
    ({ databases }, { json }) => {
      const {
        name,
        primary_location_hint: location,
        jurisdiction,
      } = json() as {
        name: string;
        primary_location_hint?: string;
        jurisdiction?: string;
      };
      if ([...databases.values()].some((one) => one.name === name))
        throw new Refusal(400, 7502, `Database with name '${name}' already exists`);
      const uuid = randomUUID();
      databases.set(uuid, { name, location, jurisdiction, replication: "disabled" });
      return { uuid, name, version: "production" };
    },
  ],
  ["GET ACC/d1/database/*", (account, { groups: [name = ""] }) => openDatabase(account, name)],
  [
    "PUT ACC/d1/database/*",
    (account, { groups: [name = ""], json }) => {
      const { uuid } = openDatabase(account, name);
      account.databases.get(uuid)!.replication = (json() as { read_replication: { mode: string } }).read_replication.mode;
      return openDatabase(account, uuid);
    },
  ],
  ["DELETE ACC/d1/database/*", (account, { groups: [name = ""] }) => void account.databases.delete(openDatabase(account, name).uuid)],
  [
    "POST ACC/d1/database/*/query",
    async (account, { groups: [name = ""], json }, runtime) => {
      const { sql, params } = json() as { sql: string; params?: unknown[] };
      try {
        return await runtime.query(openDatabase(account, name).uuid, sql, params);
      } catch (error) {
        throw error instanceof Refusal ? error : new Refusal(400, 7500, String(error));
      }
    },
  ],
  [
    "POST ACC/d1/database/*/import",
    async (account, { groups: [name = ""], json, url }, runtime) => {
      const { uuid } = openDatabase(account, name);
      const { action, etag } = json() as { action: string; etag: string };
      if (action === "init") return { success: true, filename: etag, upload_url: `${url}/upload/${etag}` };
      try {
        await runtime.import(uuid, found(account.uploads.get(etag), 7404));
      } catch (error) {
        if (error instanceof Refusal) throw error;
        return { success: true, status: "error", messages: [], errors: [String(error)], at_bookmark: "bookmark" };
      }
      const result = { num_queries: 1, final_bookmark: "bookmark", meta: { duration: 1, rows_read: 0, rows_written: 0, size_after: 1 } };
      return { success: true, status: "complete", messages: [], at_bookmark: "bookmark", result };
    },
  ],
  [
    "GET ACC/r2/buckets",
    (account) => {
      checkR2(account);
      return { buckets: [...account.buckets.keys()].map((name) => ({ name })) };
    },
  ],
  [
    "POST ACC/r2/buckets",
    (account, { json, jurisdiction }) => {
      checkR2(account);
      const { name, locationHint: location } = json() as { name: string; locationHint?: string };
      if (account.buckets.has(name)) throw new Refusal(409, 10_004, "The bucket you tried to create already exists, and you own it.");
      account.buckets.set(name, { location, jurisdiction, rules: [], files: new Map() });
      return { name };
    },
  ],
  ["GET ACC/r2/buckets/*", (account, call) => openBucket(account, call) && { name: call.groups[0] }],
  [
    "DELETE ACC/r2/buckets/*",
    (account, call) => {
      if (openBucket(account, call).files.size > 0) throw new Refusal(409, 10_008, "The bucket you tried to delete is not empty.");
      account.buckets.delete(call.groups[0] ?? "");
    },
  ],
  ["GET ACC/r2/buckets/*/lifecycle", (account, call) => ({ rules: openBucket(account, call).rules })],
  [
    "PUT ACC/r2/buckets/*/lifecycle",
    (account, call) => {
      openBucket(account, call).rules = call.json()["rules"] as unknown[];
    },
  ],
  [
    "GET ACC/r2/buckets/*/objects",
    (account, call) =>
      new Listed([...openBucket(account, call).files.keys()].slice(0, Number(call.query.get("per_page") ?? 20)).map((key) => ({ key }))),
  ],
  ["DELETE ACC/r2/buckets/*/objects/**", (account, call) => void openBucket(account, call).files.delete(call.groups[1] ?? "")],
  [
    "GET ACC/queues",
    ({ queues }, { query }) => new Listed([...queues].filter(([name]) => !query.has("name") || query.get("name") === name).map(queueView)),
  ],
  [
    "POST ACC/queues",
    ({ queues }, { json }) => {
      const { queue_name: name, jurisdiction } = json() as { queue_name: string; jurisdiction?: string };
      if (queues.has(name)) throw new Refusal(409, 11_009, `Queue name '${name}' is already taken.`);
      queues.set(name, { id: randomUUID().replaceAll("-", ""), jurisdiction, consumers: [] });
      return { queue_name: name };
    },
  ],
  [
    "DELETE ACC/queues/*",
    ({ queues }, { groups: [id = ""] }) => {
      for (const [name, queue] of queues) if (queue.id === id) queues.delete(name);
    },
  ],
  [
    "GET ACC/queues/*/consumers",
    (account, { groups: [id = ""] }) =>
      new Listed(queueById(account, id).consumers.map(({ consumer_id, script }) => ({ consumer_id, script, type: "worker" }))),
  ],
  [
    "POST ACC/queues/*/consumers",
    (account, { groups: [id = ""], json }) => {
      if (queueById(account, id).consumers.length > 0) throw new Refusal(409, 11_004, "the queue has a consumer");
      return putConsumer(account, id, randomUUID().replaceAll("-", ""), json());
    },
  ],
  [
    "DELETE ACC/queues/*/consumers/*",
    (account, { groups: [id = "", consumer = ""] }) => {
      const queue = queueById(account, id);
      queue.consumers = queue.consumers.filter((one) => one.consumer_id !== consumer);
    },
  ],
  ["PUT ACC/queues/*/consumers/*", (account, { groups: [id = "", consumer = ""], json }) => putConsumer(account, id, consumer, json())],
];
