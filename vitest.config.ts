/**
 * The lanes of tests, each a project of Vitest. Five run in one process: the gateway, the gateway with emulated upstreams, with the console,
 * and the sandbox inside the local Workers runtime, and the repository's files and tools in plain Node. The others start whole processes.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { kCurrentWorker } from "miniflare";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { migrationNames, readMigration } from "./scripts/support/migrations.ts";
import { newTestChain } from "./scripts/support/test-chain.ts";
import { EndOfRun } from "./scripts/support/end-of-run.ts";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";
import { aiBinding, aiWorker } from "./test/upstreams/cloudflare/binding.ts";
import { emulate } from "./test/upstreams/index.ts";
import { mediaWorker } from "./test/upstreams/media/index.ts";
import { providerKeys } from "./test/upstreams/keys.ts";
import { upstream } from "./test/node/support/upstream.ts";

keepTemporaryFilesInMemory();

const migrationsFolder = fileURLToPath(new URL("migrations", import.meta.url));
const migrations = async () => ({
  TEST_MIGRATIONS: (await migrationNames(migrationsFolder)).map((name) => ({
    name,
    queries: readMigration(readFileSync(`${migrationsFolder}/${name}`, "utf8")).flatMap(({ statements }) => statements),
  })),
});

const absent = () => new Response(null, { status: 404 });

/** The Workers that the gateway binds: a scripted upstream, and the Workers behind its paths, which only their own tests need. */
const bound = {
  SANDBOX: upstream as never,
  CONSOLE: absent as never,
  OPENAI: absent as never,
  MCP: absent as never,
  OPERATIONS: { name: kCurrentWorker, entrypoint: "Operations" },
  SIGNER: { name: kCurrentWorker, entrypoint: "Marks" },
  PAYMENTS: { name: kCurrentWorker, entrypoint: "Payments" },
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
    if (!/\.(?:css|min\.js|svg|woff2|webp|png|mp4|md)$|\/client\/\w+\.js$/.test(source)) return null;
    const found = await this.resolve(source, importer, { skipSelf: true });
    return found && `\0served:${found.id.replace(/\?.*$/, "")}.served`;
  },
  load: (id) => {
    if (!id.startsWith("\0served:")) return null;
    const path = id.slice("\0served:".length, -".served".length);
    return /\.(?:woff2|webp|png|mp4)$/.test(path)
      ? `export default Uint8Array.fromBase64("${readFileSync(path, "base64")}").buffer`
      : `export default ${JSON.stringify(readFileSync(path, "utf8"))}`;
  },
};

/** Tests of pages hash some hundred passwords, each for a third of a second: here at a thousandth of the cost, which has a test of its own (`test/auth`). */
const cheapPasswords: Plugin = {
  name: "cheap-passwords",
  transform: (code, id) => (id.endsWith("/auth/password-hash.ts") ? code.replace("2 ** 14", "2 ** 4") : null),
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
        SEALING_KEY: "test-sealing-key",
        RECEIPT_SIGNING_KEY: "MC4CAQAwBQYDK2VwBCIEIKaKzxz1bV3B3qHIvpp6JvzRqz7XANI4UZWxoDKC5RdB",
        RATE_LIMITS: "off",
        REQUEST_LOG: "off",
        ...(await newTestChain()),
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

/** The Workers behind `/openai` and `/mcp`, called over RPC as in a deployment. */
const facades = {
  OPENAI: { name: kCurrentWorker, entrypoint: "OpenAi" },
  MCP: { name: kCurrentWorker, entrypoint: "Mcp" },
} as const;
const attempts = { ATTEMPTS: { className: "AttemptObject", useSQLite: true } } as const;
const allWorkers = "./test/support/all-workers.ts";

/** The gateway with the scripted upstream, and with the Workers behind `/openai` and `/mcp`. */
const scripted = () => gateway({}, { serviceBindings: { ...bound, ...facades }, durableObjects: attempts }, allWorkers);

/** The gateway with every provider switched on, and the emulators of their APIs instead of the internet. */
const emulated = () =>
  gateway(
    providerKeys,
    {
      serviceBindings: { ...bound, ...facades, MEDIA: { name: "media", entrypoint: "Media" }, AI: aiBinding },
      durableObjects: attempts,
      workers: [mediaWorker, aiWorker(emulate)],
      outboundService: emulate as never,
    },
    allWorkers,
  );

/** The gateway with the console's variables in addition. */
const withConsole = () =>
  gateway(
    { AUTH_SECRET: "test-auth-secret-of-32-characters", SIGNUP: "open", SIGNUP_QUOTA: "5" },
    {
      serviceBindings: bound,
      images: { binding: "IMAGES" },
      ratelimits: Object.fromEntries(
        ["PAGES", "FORMS", "VISITS"].map((name) => [name, { namespace_id: name, simple: { limit: 600, period: 60 } }]),
      ),
    },
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
      include: ["@cfworker/json-schema", "fast-check", "hono", "hono/body-limit", "stripe", "zod", "zod/mini", ...more],
    },
  },
});

/** Starts a lane with the files that run alone (`test/support/alone.ts`): between others, each would give the file after it new modules too. */
class AloneFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]) {
    const isAlone = ({ moduleId }: TestSpecification) => readFileSync(moduleId, "utf8").includes("/support/alone.ts");
    const lanes = Map.groupBy(await super.sort(files), ({ project }) => project);
    return [...lanes.values()].flatMap((lane) => [...lane.filter(isAlone), ...lane.filter((file) => !isAlone(file))]);
  }
}

/** Runs without `--project`. An option of the command line, which a type of the configuration does not include. */
const byDefault = { project: ["gateway", "providers", "console", "sandbox", "node"] };

type TestOptions = NonNullable<ViteUserConfig["test"]>;

/** A lane that starts no process. Without `extends: false` Vitest would evaluate this file once more for each of them. */
const inProcess = (name: string, test: TestOptions, vite: ViteUserConfig) => ({
  ...vite,
  extends: false as const,
  test: {
    name,
    // Files run one after the other in few runtimes: starting one takes longer than the tests of most files.
    isolate: false,
    // More than the two cores of a CI machine: a test and its runtime wait for each other in turns. Each one more is a runtime that loads all modules.
    maxWorkers: 3,
    // Three files share two cores, so the duration of one test says little. Tests of speed have their own assertions.
    testTimeout: 30_000,
    ...test,
  },
});

/** A lane inside the local Workers runtime. */
const inRuntime = (name: string, test: TestOptions, vite: ViteUserConfig) =>
  inProcess(name, { include: [`test/${name}/**/*.test.ts`], ...test }, vite);

/** A lane that starts whole processes, as `npm run test:<name>`. Lanes that are named together run one after the other, by their place. */
const processes = (name: string, place: number, test: TestOptions) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], sequence: { groupOrder: place }, ...test },
});

const setupFiles = ["test/setup.ts"];

export default defineConfig(async () => ({
  test: {
    ...byDefault,
    sequence: { sequencer: AloneFirst },
    silent: "passed-only" as const,
    reporters: ["default", new EndOfRun()],
    projects: [
      inRuntime(
        "gateway",
        {
          include: ["test/**/*.test.ts"],
          exclude: ["test/{browser,clients,console,deploy,ecosystem,generators,node,packages,programs,providers,sandbox,upstreams}/**"],
          setupFiles,
          deps: bundled("@modelcontextprotocol/client", "@modelcontextprotocol/server", "eventsource-parser/stream"),
          provide: { faultSeeds: process.env["FAULT_SEEDS"] ?? "" },
        },
        { plugins: [await scripted()] },
      ),
      // Each file continues with the time of the one before: a cool-down of a minute or a token's hour has ended by then.
      inRuntime(
        "providers",
        { setupFiles, deps: bundled("@modelcontextprotocol/client", "@modelcontextprotocol/server", "eventsource-parser/stream") },
        { plugins: [await emulated()] },
      ),
      inRuntime(
        "console",
        {
          setupFiles,
          globalSetup: ["test/console/openid-provider.ts"],
          deps: bundled(
            "@better-auth/passkey",
            "better-auth",
            "better-auth/api",
            "better-auth/plugins/generic-oauth",
            "hono/cookie",
            "hono/secure-headers",
          ),
        },
        { plugins: [await withConsole(), servedFiles, cheapPasswords], oxc: { jsx: { runtime: "automatic", importSource: "hono/jsx" } } },
      ),
      inRuntime(
        "sandbox",
        {},
        {
          plugins: [cloudflareTest({ wrangler: { configPath: "./src/sandbox/wrangler.toml" } })],
          // Its package maps a file to `false` for browsers, which the test runtime treats as a module named "node:".
          resolve: {
            alias: { mediabunny: fileURLToPath(new URL("node_modules/mediabunny/dist/bundles/mediabunny.mjs", import.meta.url)) },
          },
        },
      ),
      inProcess(
        "node",
        { include: ["test/node/**/*.test.ts", "test/upstreams/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 },
        { plugins: [textFiles] },
      ),
      // Tests of pure functions, which the lane of the gateway runs too: `npm run test:fast`.
      {
        plugins: [textFiles],
        test: { name: "pure", include: ["test/**/*.pure.test.ts"], isolate: false, maxWorkers: 2, sequence: { groupOrder: 6 } },
      },
      // The scripts, the documentation's and the examples' programs, the bundled Workers. They mostly wait for each other.
      processes("programs", 1, { globalSetup: ["test/clients/gateway.ts"], maxWorkers: 4, testTimeout: 120_000, hookTimeout: 120_000 }),
      // The real wrangler against an emulation of Cloudflare's API: each test bundles the Workers several times.
      processes("deploy", 2, { maxWorkers: 2, testTimeout: 300_000 }),
      // Official clients, unchanged, against a whole gateway with the sandbox as its upstream.
      processes("clients", 3, { globalSetup: ["test/clients/gateway.ts"], maxWorkers: 2, testTimeout: 180_000, hookTimeout: 300_000 }),
      // Programs and frameworks that people put before OpenAI's API, beyond those of `clients`: not a part of `.ci/run`.
      processes("ecosystem", 8, { globalSetup: ["test/clients/gateway.ts"], maxWorkers: 2, testTimeout: 180_000, hookTimeout: 600_000 }),
      // The packages of `clients/` installed in an empty folder, against a whole gateway, after `npm run packages`.
      processes("packages", 4, { globalSetup: ["test/packages/gateway.ts"], maxWorkers: 1, testTimeout: 300_000, hookTimeout: 180_000 }),
      // What public generators make of the API description, against a whole gateway.
      processes("generators", 7, { globalSetup: ["test/packages/gateway.ts"], maxWorkers: 1, testTimeout: 300_000, hookTimeout: 180_000 }),
      // Chromium against a running gateway: seconds for a test on an idle machine, ten times as long on a busy one.
      processes("browser", 5, {
        globalSetup: ["test/browser/support/setup.ts"],
        maxWorkers: 2,
        testTimeout: 120_000,
        hookTimeout: 120_000,
        expect: { poll: { timeout: 20_000 } },
      }),
    ],
  },
}));
