/** Test projects inside the local Workers runtime: the gateway, the gateway with emulated upstreams, with the console, and the sandbox; and the repository's files and tools in plain Node. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { kCurrentWorker } from "miniflare";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";
import { aiBinding, aiWorker } from "./test/upstreams/cloudflare/binding.ts";
import { emulate } from "./test/upstreams/index.ts";
import { mediaWorker } from "./test/upstreams/media/index.ts";
import { providerKeys } from "./test/upstreams/keys.ts";
import { upstream } from "./test/node/support/upstream.ts";

keepTemporaryFilesInMemory();

const migrations = async () => ({ TEST_MIGRATIONS: await readD1Migrations(fileURLToPath(new URL("migrations", import.meta.url))) });

const absent = () => new Response(null, { status: 404 });

/** The Workers that the gateway binds: a scripted upstream, and the Workers behind its paths, which only their own tests need. */
const bound = {
  SANDBOX: upstream as never,
  CONSOLE: absent as never,
  OPENAI: absent as never,
  MCP: absent as never,
  OPERATIONS: { name: kCurrentWorker, entrypoint: "Operations" },
};

/**
 * Styles, scripts, drawings and Markdown that the console serves are imported as text, fonts and media as bytes, like its wrangler.toml
 * says.
 */
type Plugin = Extract<NonNullable<ViteUserConfig["plugins"]>[number], { name: string }>;

const servedFiles: Plugin = {
  name: "served-files",
  enforce: "pre",
  async resolveId(source, importer) {
    if (!/\.(?:css|min\.js|svg|woff2|webp|mp4|md)$|\/client\/\w+\.js$/.test(source)) return null;
    const found = await this.resolve(source, importer, { skipSelf: true });
    return found && `\0served:${found.id.replace(/\?.*$/, "")}.served`;
  },
  load: (id) => {
    if (!id.startsWith("\0served:")) return null;
    const path = id.slice("\0served:".length, -".served".length);
    return /\.(?:woff2|webp|mp4)$/.test(path)
      ? `export default Uint8Array.fromBase64("${readFileSync(path, "base64")}").buffer`
      : `export default ${JSON.stringify(readFileSync(path, "utf8"))}`;
  },
};

/** Text files beside the gateway's script, for the tests in Node of the scripts that write them. */
const textFiles: Plugin = {
  name: "text-files",
  enforce: "pre",
  load: (id) => (id.endsWith(".txt") ? `export default ${JSON.stringify(readFileSync(id, "utf8"))}` : null),
};

/** The gateway's configuration in tests: test settings, and queue messages that the tests deliver. */
const gateway = async (bindings: Record<string, string>, more: object, main = "./test/support/gateway-worker.ts") =>
  cloudflareTest({
    main,
    wrangler: { configPath: "./wrangler.toml" },
    miniflare: {
      bindings: {
        ...(await migrations()),
        ENVIRONMENT: "local",
        ADMIN_TOKEN: "test-admin",
        ASSET_SIGNING_SECRET: "test-signing-secret",
        RECEIPT_SIGNING_KEY: "MC4CAQAwBQYDK2VwBCIEIKaKzxz1bV3B3qHIvpp6JvzRqz7XANI4UZWxoDKC5RdB",
        RATE_LIMITS: "off",
        REQUEST_LOG: "off",
        ...bindings,
      },
      // Messages wait longer than any test and any runtime: tests deliver them themselves.
      queueProducers: {
        DISPATCH: { queueName: "gateway-dispatch", deliveryDelay: 43_200 },
        STARTS: { queueName: "gateway-starts", deliveryDelay: 43_200 },
        NOTIFY: { queueName: "gateway-notify", deliveryDelay: 43_200 },
      },
      queueConsumers: {
        "gateway-dispatch": { maxBatchSize: 100, maxBatchTimeout: 60 },
        "gateway-starts": { maxBatchSize: 100, maxBatchTimeout: 60 },
        "gateway-notify": { maxBatchSize: 100, maxBatchTimeout: 60 },
        "gateway-dead": { maxBatchSize: 100, maxBatchTimeout: 60 },
      },
      d1Databases: { REPLICA: "replica" },
      ...more,
    },
  });

/** The gateway with the scripted upstream, and with the Workers behind `/openai` and `/mcp`, called over RPC as in a deployment. */
const scripted = () =>
  gateway(
    {},
    {
      serviceBindings: {
        ...bound,
        OPENAI: { name: kCurrentWorker, entrypoint: "OpenAi" },
        MCP: { name: kCurrentWorker, entrypoint: "Mcp" },
      },
      durableObjects: { ATTEMPTS: { className: "AttemptObject", useSQLite: true } },
    },
    "./test/support/all-workers.ts",
  );

/**
 * Before the first test each package becomes one module: a runtime loads its modules one by one, and packages have a thousand in the
 * console. hono/jsx is not included: Vitest never bundles its runtime, and both must be the same module.
 */
const bundled = (...more: string[]) => ({
  optimizer: {
    ssr: {
      enabled: true,
      rolldownOptions: { external: /^(?:node|cloudflare):/ },
      include: [
        "@cfworker/json-schema",
        "@hono/zod-validator",
        "fast-check",
        "hono",
        "hono/body-limit",
        "hono/hono-base",
        "hono/http-exception",
        "hono/method-not-allowed",
        "hono/router/trie-router",
        "zod",
        "zod/mini",
        ...more,
      ],
    },
  },
});

/** Test files that look at more than their own account's data: the whole audit or bucket, estimates, limits of all. See `test/setup.ts`. */
const alone = [
  ...["admin", "admin-guesses", "dry-run", "forged-ids", "large-bodies", "limits", "slow-bodies", "status", "videos"].map(
    (name) => `/test/api/${name}.test.ts`,
  ),
  "/test/console/admin.test.ts",
  "/test/faults/faults.test.ts",
  "/test/fuzz/bodies.test.ts",
  "/test/fuzz/requests.test.ts",
  "/test/ledger/million.test.ts",
  ...["alerts", "archive", "erase", "reconcile"].map((name) => `/test/operations/${name}.test.ts`),
  "/test/tasks/typical-times.test.ts",
  ...["faults", "line", "lost", "versions", "wallet"].map((name) => `/test/wallet/${name}.test.ts`),
];

/** The gateway with the console's variables in addition. */
const withConsole = async () => [
  await gateway(
    { AUTH_SECRET: "test-auth-secret-of-32-characters", SIGNUP: "open", SIGNUP_QUOTA: "5" },
    { serviceBindings: bound, images: { binding: "IMAGES" } },
  ),
  servedFiles,
];
const jsx = { jsx: { runtime: "automatic" as const, importSource: "hono/jsx" } };

export default defineConfig(async () => ({
  test: {
    silent: "passed-only" as const,
    // More than the two cores of a CI machine: a test and its runtime wait for each other in turns.
    maxWorkers: 4,
    // Four files share two cores, so the duration of one test says little. Tests of speed have their own assertions.
    testTimeout: 30_000,
    projects: [
      {
        // The files run one after the other in at most four runtimes: starting one takes longer than the tests of most files.
        plugins: [await scripted()],
        test: {
          name: "gateway",
          isolate: false,
          include: ["test/**/*.test.ts"],
          exclude: ["test/{browser,clients,console,deploy,node,packages,programs,providers,sandbox,upstreams}/**"],
          setupFiles: ["test/setup.ts"],
          deps: bundled("@modelcontextprotocol/client", "@modelcontextprotocol/server", "eventsource-parser/stream"),
          provide: { alone, faultSeeds: process.env["FAULT_SEEDS"] ?? "" },
        },
      },
      {
        plugins: [
          await gateway(providerKeys, {
            serviceBindings: {
              ...bound,
              MEDIA: { name: "media", entrypoint: "Media" },
              AI: aiBinding,
            },
            workers: [mediaWorker, aiWorker(emulate)],
            outboundService: emulate as never,
          }),
        ],
        // The files run one after the other in one runtime, and each continues with the time of the one before: a cool-down of a minute or
        // a token's hour has ended by then.
        test: {
          name: "providers",
          isolate: false,
          include: ["test/providers/**/*.test.ts"],
          setupFiles: ["test/setup.ts"],
          deps: bundled("eventsource-parser/stream"),
          provide: { alone },
        },
      },
      {
        plugins: await withConsole(),
        oxc: jsx,
        test: {
          name: "console",
          isolate: false,
          include: ["test/console/**/*.test.ts"],
          setupFiles: ["test/setup.ts"],
          deps: bundled("@better-auth/passkey", "better-auth", "better-auth/api", "client-zip", "hono/cookie", "hono/secure-headers"),
          provide: { alone },
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./src/sandbox/wrangler.toml" } })],
        // Its package maps a file to `false` for browsers, which the test runtime treats as a module named "node:".
        resolve: { alias: { mediabunny: fileURLToPath(new URL("node_modules/mediabunny/dist/bundles/mediabunny.mjs", import.meta.url)) } },
        test: { name: "sandbox", isolate: false, include: ["test/sandbox/**/*.test.ts"] },
      },
      {
        plugins: [textFiles],
        test: {
          name: "node",
          include: ["test/node/**/*.test.ts", "test/upstreams/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
}));
