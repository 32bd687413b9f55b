/** Runs the scripts uploaded to an emulated account on the local Workers runtime, and keeps their databases. */

import { join } from "node:path";
import type { V4WorkerOptions } from "miniflare";
import { convertV4MiniflareOptions, Miniflare } from "../../scripts/support/miniflare.ts";
import type { Account, Binding, Module } from "./account.ts";
import { cutImport, cutQuery } from "./d1-statements.ts";

const databases = "databases";
const moduleTypes: Record<string, "ESModule" | "Data" | "CompiledWasm" | "Text"> = {
  "application/javascript+module": "ESModule",
  "application/octet-stream": "Data",
  "application/wasm": "CompiledWasm",
  "text/plain": "Text",
};

/** A runtime that follows the account: changes apply at the next request. */
export class Runtime {
  readonly #account: Account;
  readonly #folder: string;
  #miniflare: InstanceType<typeof Miniflare> | undefined;
  #running = { databases: "", names: [] as string[], versions: "" };
  #turn: Promise<unknown> = Promise.resolve();

  constructor(account: Account, folder: string) {
    this.#account = account;
    this.#folder = folder;
  }

  /** Runs SQL in a database like the API's `/query`: all statements in one transaction. */
  query(id: string, sql: string, params: unknown[] = []): Promise<unknown[]> {
    return this.#batch(id, cutQuery(sql, params), params);
  }

  /** Runs a file like the API's `/import`: all statements in one transaction. */
  import(id: string, sql: string): Promise<unknown[]> {
    return this.#batch(id, cutImport(sql));
  }

  async #batch(id: string, statements: string[], params: unknown[] = []): Promise<unknown[]> {
    const miniflare = await this.#current();
    const db = await miniflare.getD1Database(id, databases);
    return db.batch(statements.map((statement) => db.prepare(statement).bind(...params)));
  }

  /** Sends a request to the Worker that serves its host. */
  async fetch(worker: string, request: Request): Promise<Response> {
    const miniflare = await this.#current(worker);
    const fetcher = await miniflare.getWorker(worker);
    const headers = Object.fromEntries(request.headers);
    const response = await fetcher.fetch(request.url, {
      method: request.method,
      headers,
      ...(request.body && { body: new Uint8Array(await request.arrayBuffer()) }),
      redirect: "manual",
    });
    // Another class of the same shape: the runtime has its own.
    return new Response(response.body as ReadableStream | null, { status: response.status, headers: Object.fromEntries(response.headers) });
  }

  async dispose(): Promise<void> {
    await this.#miniflare?.dispose();
  }

  /** The runtime with all databases and, if a Worker is needed, the newest versions of it and of the Workers that it binds. */
  #current(worker?: string): Promise<InstanceType<typeof Miniflare>> {
    // One at a time: requests that arrive while the runtime starts wait for the same start.
    const next = this.#turn.then(() => this.#start(worker));
    this.#turn = next.catch(() => undefined);
    return next;
  }

  async #start(worker: string | undefined): Promise<InstanceType<typeof Miniflare>> {
    const ids = [...this.#account.databases.keys()];
    const names = worker === undefined ? this.#running.names : this.#reachable(worker);
    const versions = names.map((name) => this.#account.workers.get(name)?.deployed).join();
    const isCurrent =
      ids.join() === this.#running.databases &&
      (worker === undefined || (names.join() === this.#running.names.join() && versions === this.#running.versions));
    if (this.#miniflare && isCurrent) return this.#miniflare;
    const options = convertV4MiniflareOptions({
      workers: [
        {
          name: databases,
          modules: true,
          script: "export default {}",
          compatibilityDate: "2026-10-20",
          d1Databases: Object.fromEntries(ids.map((id) => [id, id])),
        },
        ...names.flatMap((name) => this.#options(name)),
      ],
      resourcePersistencePath: join(this.#folder, "state"),
      resourceTmpPath: join(this.#folder, "tmp"),
      cf: false,
      handleStructuredLogs: () => undefined,
    });
    if (this.#miniflare) await this.#miniflare.setOptions(options);
    else this.#miniflare = new Miniflare(options);
    await this.#miniflare.ready;
    this.#running = { databases: ids.join(), names, versions };
    return this.#miniflare;
  }

  /** A Worker, preceded by every Worker that its bindings refer to. */
  #reachable(name: string): string[] {
    const bound = this.#account
      .versionOf(name)
      ?.bindings.flatMap((binding) => (binding.type === "service" ? [String(binding["service"])] : []));
    return [...new Set([...(bound ?? []).flatMap((one) => this.#reachable(one)), name])];
  }

  #options(name: string): V4WorkerOptions[] {
    const version = this.#account.versionOf(name);
    if (!version) return [];
    const { secrets } = this.#account.worker(name);
    const of = (type: string): Binding[] => version.bindings.filter((binding) => binding.type === type);
    const table = <T>(type: string, value: (binding: Binding) => T) =>
      Object.fromEntries(of(type).map((binding) => [binding.name, value(binding)]));
    const consumed = [...this.#account.queues].flatMap(([queue, { consumers }]) =>
      consumers.filter(({ script }) => script === name).map(({ body }) => [queue, body] as const),
    );
    return [
      {
        name,
        modules: version.modules
          .toSorted((one, other) => Number(other.name === version.mainModule) - Number(one.name === version.mainModule))
          .map((module) => this.#module(name, module)),
        modulesRoot: join(this.#folder, name),
        compatibilityDate: String(version.metadata["compatibility_date"]),
        compatibilityFlags: (version.metadata["compatibility_flags"] as string[] | undefined) ?? [],
        bindings: {
          ...table("plain_text", ({ text }) => text),
          // The local runtime has no jurisdictions.
          JURISDICTION: "",
          ...table("json", ({ json }) => json),
          ...table("version_metadata", () => ({ id: version.id, tag: "", timestamp: "" })),
          ...Object.fromEntries(secrets),
        },
        d1Databases: table("d1", (binding) => String(binding["id"] ?? binding["database_id"])),
        r2Buckets: table("r2_bucket", ({ bucket_name: bucket }) => String(bucket)),
        queueProducers: table("queue", ({ queue_name: queue }) => ({ queueName: String(queue) })),
        queueConsumers: Object.fromEntries(
          consumed.map(([queue, body]) => {
            const settings = (body["settings"] ?? {}) as Record<string, number>;
            const dead = body["dead_letter_queue"];
            return [
              queue,
              {
                maxBatchSize: settings["batch_size"] ?? 10,
                maxBatchTimeout: 0,
                ...(typeof dead === "string" && { deadLetterQueue: dead }),
              },
            ];
          }),
        ),
        durableObjects: table("durable_object_namespace", (binding) => ({
          className: String(binding["class_name"]),
          useSQLite: true,
          ...(typeof binding["script_name"] === "string" && { scriptName: binding["script_name"] }),
        })),
        serviceBindings: table("service", ({ service, entrypoint }) =>
          typeof entrypoint === "string" ? { name: String(service), entrypoint } : String(service),
        ),
        ratelimits: table("ratelimit", ({ namespace_id: id, simple }) => ({
          namespace_id: String(id),
          simple: simple as { limit: number; period: 10 | 60 },
        })),
      },
    ];
  }

  #module = (worker: string, { name, type, content }: Module) => ({
    type: moduleTypes[type.replace(/;.*/, "")] ?? "Data",
    path: join(this.#folder, worker, name),
    contents: content,
  });
}
