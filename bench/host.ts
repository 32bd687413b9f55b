/** A process for each server: one workerd with one Worker, reached without a proxy. */

import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { V4WorkerOptions } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { convertV4MiniflareOptions, Miniflare } from "../scripts/support/miniflare.ts";
import { migrationNames, readMigration } from "../scripts/support/migrations.ts";
import { type Bundled } from "./build.ts";
import { root } from "../scripts/support/wrangler.ts";
import { localLimit, outsideBucket } from "./plugins.ts";
import { upstream } from "./upstream.ts";

/** The options of a host, as JSON in its first argument. */
export interface HostOptions {
  configPath: string;
  /** The bundled script. */
  script: string;
  stateDir: string;
  /** True delivers the queues' messages. */
  consumes: boolean;
  bindings: Record<string, string>;
  /** Requests per key and minute of every rate limit, counted within the isolate; undefined for the limits of `configPath`, counted by the simulator. */
  rateLimit?: number;
  /** The heap limit of each isolate in MiB; undefined for no limit. */
  heapMB?: number;
  /** Host and port of the bucket for `ASSETS`; undefined for the simulator in the measured process. */
  bucket?: string;
  /** True adds the binding NETWORK, with which a Worker reaches the network without the simulator's own Worker between them. */
  network?: boolean;
  /** The OpenAI Worker, if the gateway has it behind it. */
  openai?: Bundled;
  /** The operations Worker, without which the console's log of requests is not stored. */
  operations?: Bundled;
}

/** The message of a host when it has started. */
export interface HostStarted {
  url: string;
  /** The inspector URL of the Worker's isolate; empty if its heap is not limited. */
  inspectorUrl: string;
  /** The same of the OpenAI Worker. */
  openaiInspectorUrl: string;
}

const options: HostOptions = JSON.parse(process.argv[2] ?? "");
if (options.heapMB !== undefined) process.env["MINIFLARE_WORKERD_V8_FLAGS"] = `--max-heap-size=${options.heapMB}`;

/** A Worker's settings, with its bundle as its modules. */
async function bundledWorker(name: string, { configPath, script }: Bundled) {
  // Module rules are for sources; the bundle is one module.
  const { modulesRules: _rules, ...settings } = unstable_getMiniflareWorkerOptions(configPath).workerOptions as V4WorkerOptions & {
    modulesRules?: unknown;
  };
  const folder = dirname(script);
  const texts = (await readdir(folder))
    .filter((file) => file.endsWith(".txt"))
    .map((file) => ({ type: "Text" as const, path: join(folder, file) }));
  return { ...settings, name, modules: [{ type: "ESModule" as const, path: script }, ...texts], modulesRoot: folder };
}

const measured = await bundledWorker("measured", options);
const { openai, operations, bucket, rateLimit } = options;
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    workers: [
      {
        ...measured,
        bindings: { ...measured.bindings, ...options.bindings },
        queueConsumers: (options.consumes && measured.queueConsumers) || {},
        serviceBindings: {
          ...(measured.serviceBindings?.["SANDBOX"] && { SANDBOX: upstream }),
          ...(openai && { OPENAI: { name: "openai" } }),
          ...(operations && { OPERATIONS: { name: "operations" } }),
          ...(options.network && { NETWORK: { network: { allow: ["public", "private"] } } }),
        },
        ...(bucket !== undefined && { r2Buckets: {} }),
        ...(rateLimit !== undefined && { ratelimits: {} }),
        unsafeBindings: [
          ...(bucket === undefined ? [] : [outsideBucket("ASSETS", bucket)]),
          ...(rateLimit === undefined ? [] : Object.keys(measured.ratelimits ?? {}).map((name) => localLimit(name, rateLimit))),
        ],
        unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
      },
      ...(openai ? [await bundledWorker("openai", openai)] : []),
      ...(operations ? [await bundledWorker("operations", operations)] : []),
    ],
    resourcePersistencePath: join(options.stateDir, "state"),
    resourceTmpPath: join(options.stateDir, "tmp"),
    ...(options.heapMB !== undefined && { inspectorPort: 0 }),
    cf: false,
    handleStructuredLogs: () => undefined,
  }),
);

// The host ends when its parent ends.
process.once("disconnect", () => void miniflare.dispose().then(() => process.exit()));

await miniflare.ready;
if ("DB" in (measured.d1Databases ?? {})) {
  const db = await miniflare.getD1Database("DB");
  for (const name of await migrationNames(join(root, "migrations"))) {
    const statements = readMigration(await readFile(join(root, "migrations", name), "utf8")).flatMap((step) => step.statements);
    await db.batch(statements.map((statement) => db.prepare(statement)));
  }
}
const findInspector = async (name: string) =>
  options.heapMB === undefined ? "" : new URL(`/core:user:${name}`, await miniflare.getInspectorURL()).href;
process.send?.({
  url: (await miniflare.unsafeGetDirectURL("measured")).origin,
  inspectorUrl: await findInspector("measured"),
  openaiInspectorUrl: openai ? await findInspector("openai") : "",
} satisfies HostStarted);
