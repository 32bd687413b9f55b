/** A gateway whose Worker and objects are of two revisions, like in the minutes after a deployment. It can be restarted with other revisions on the same state. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { V4WorkerOptions } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { convertV4MiniflareOptions, Miniflare } from "../../../scripts/support/miniflare.ts";
import { applyMigration, readMigration } from "../../../scripts/support/migrations.ts";
import { root } from "../../../scripts/support/wrangler.ts";

/** A bundle: its script, `worker.js`, and text files, by name. */
export type Modules = Record<string, string>;

export interface Message {
  queue: string;
  body: { taskId?: string };
}

/** The servers that a gateway calls: the upstream's service binding, and all public hosts. */
interface Outside {
  upstream: (request: Request) => Promise<Response>;
  fetch: (request: Request) => Promise<Response>;
  send: (message: Message) => void;
}

interface Revisions {
  worker: Modules;
  objects: Modules;
  /** The operations Worker; without it the gateway has none. */
  operations?: Modules | undefined;
  /** The difference between the test's clock and the real one. */
  shiftMs: number;
  /** Settlements of this model fail. */
  unsettledModel: string;
}

const support = join(root, "test/programs/support");
const classes = { TASKS: "TaskObject", CLAIMS: "ClaimObject", WALLETS: "WalletObject", TOKENS: "TokenObject" };

export class MixedGateway {
  readonly #folder: string;
  readonly #outside: Outside;
  #miniflare: InstanceType<typeof Miniflare> | undefined;

  constructor(folder: string, outside: Outside) {
    this.#folder = folder;
    this.#outside = outside;
  }

  /** Ends the running processes without finishing their work, and starts these revisions on the same state. */
  async switchTo({ worker, objects, operations, shiftMs, unsettledModel }: Revisions): Promise<void> {
    await this.dispose();
    const { workerOptions } = unstable_getMiniflareWorkerOptions(join(root, "wrangler.toml"));
    const { bindings, compatibilityDate, compatibilityFlags } = workerOptions as V4WorkerOptions;
    const common = {
      compatibilityDate,
      compatibilityFlags,
      modulesRoot: "/",
      bindings: {
        ...bindings,
        ENVIRONMENT: "local",
        ADMIN_TOKEN: "test-admin",
        ASSET_SIGNING_SECRET: "test-signing-secret",
        SEALING_KEY: "test-sealing-key",
        RECEIPT_SIGNING_KEY: "MC4CAQAwBQYDK2VwBCIEIKaKzxz1bV3B3qHIvpp6JvzRqz7XANI4UZWxoDKC5RdB",
        RATE_LIMITS: "off",
        CLOCK_SHIFT_MS: shiftMs,
        UNSETTLED_MODEL: unsettledModel,
      },
      d1Databases: { DB: "gateway" },
      r2Buckets: { ASSETS: "gateway-assets" },
      serviceBindings: {
        SANDBOX: this.#outside.upstream as never,
        DISPATCH: { name: "queues", entrypoint: "Dispatch" },
        STARTS: { name: "queues", entrypoint: "Starts" },
        NOTIFY: { name: "queues", entrypoint: "Notify" },
        ...(operations && { OPERATIONS: { name: "operations" } }),
      },
      outboundService: this.#outside.fetch as never,
    };
    const readObjects = (scriptName: object) =>
      Object.fromEntries(Object.entries(classes).map(([name, className]) => [name, { className, useSQLite: true, ...scriptName }]));
    this.#miniflare = new Miniflare(
      convertV4MiniflareOptions({
        workers: [
          ...(operations ? [await this.#operations(operations, shiftMs)] : []),
          { ...common, name: "gateway", modules: await toModules(worker), durableObjects: readObjects({ scriptName: "objects" }) },
          { ...common, name: "objects", modules: await toModules(objects), durableObjects: readObjects({}) },
          {
            name: "queues",
            compatibilityDate,
            modules: [{ type: "ESModule", path: join(support, "upgrade-queues.js") }],
            modulesRoot: "/",
            serviceBindings: { TEST: (async (request: Request) => this.#take(request)) as never },
          },
        ] as V4WorkerOptions[],
        resourcePersistencePath: join(this.#folder, "state"),
        resourceTmpPath: join(this.#folder, "tmp"),
        cf: false,
        handleStructuredLogs: () => undefined,
      }),
    );
    await this.#miniflare.ready;
  }

  async #operations(modules: Modules, shiftMs: number) {
    const { workerOptions } = unstable_getMiniflareWorkerOptions(join(root, "src/operations/wrangler.toml"));
    const { compatibilityDate, compatibilityFlags } = workerOptions as V4WorkerOptions;
    return {
      name: "operations",
      compatibilityDate,
      compatibilityFlags,
      modulesRoot: "/",
      modules: await toModules(modules, "operations-worker.js"),
      bindings: { CLOCK_SHIFT_MS: shiftMs, LEDGER_DAYS: "9" },
      d1Databases: { DB: "gateway" },
      r2Buckets: { ASSETS: "gateway-assets" },
    };
  }

  async #take(request: Request): Promise<Response> {
    this.#outside.send((await request.json()) as Message);
    return new Response();
  }

  get #running(): InstanceType<typeof Miniflare> {
    if (!this.#miniflare) throw new Error("no revision was started");
    return this.#miniflare;
  }

  async fetch(path: string, init: { method?: string; headers: Record<string, string>; body?: string }) {
    const worker = await this.#running.getWorker("gateway");
    return worker.fetch(`https://gateway.example${path}`, init);
  }

  /** Delivers a message to the Worker's consumer. True if it requests another delivery. */
  async deliver({ queue, body }: Message): Promise<boolean> {
    const worker = await this.#running.getWorker("gateway");
    const message = { id: crypto.randomUUID(), timestamp: new Date(), attempts: 1, body };
    const { retryBatch, retryMessages } = await worker.queue(queue, [message]);
    return retryBatch.retry || retryMessages.length > 0;
  }

  /** Applies migrations, like a deployment does before the code. */
  async migrate(names: string[]): Promise<void> {
    const db = await this.#running.getD1Database("DB", "gateway");
    for (const name of names)
      await applyMigration(name, readMigration(await readFile(join(root, "migrations", name), "utf8")), {
        applied: async () => [],
        hasRow: async (query) => (await db.prepare(query).first()) !== null,
        commit: (statements) => db.batch(statements.map((sql) => db.prepare(sql))),
      });
  }

  async rows<T>(sql: string, ...values: unknown[]): Promise<T[]> {
    const db = await this.#running.getD1Database("DB", "gateway");
    return (
      await db
        .prepare(sql)
        .bind(...values)
        .all<T>()
    ).results;
  }

  /** A file of the bucket; undefined if it does not exist. */
  async file(key: string): Promise<Uint8Array | undefined> {
    const bucket = await this.#running.getR2Bucket("ASSETS", "gateway");
    const object = await bucket.get(key);
    return object ? new Uint8Array(await object.arrayBuffer()) : undefined;
  }

  /** One run of the cron trigger. */
  async runCron(): Promise<void> {
    const worker = await this.#running.getWorker("gateway");
    await worker.scheduled({ cron: "*/5 * * * *" });
  }

  /** Ends the running processes without finishing their work. */
  async dispose(): Promise<void> {
    const running = this.#miniflare;
    this.#miniflare = undefined;
    await running?.dispose();
  }
}

/** A revision's modules behind the file that makes it testable. */
async function toModules(modules: Modules, main = "upgrade-worker.js") {
  const files = Object.entries(modules).map(([name, contents]) => ({
    type: name.endsWith(".js") ? ("ESModule" as const) : ("Text" as const),
    path: `/${name}`,
    contents,
  }));
  return [{ type: "ESModule" as const, path: `/${main}`, contents: await readFile(join(support, main), "utf8") }, ...files];
}
