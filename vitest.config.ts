/** Three test projects: the gateway and the sandbox inside the local Workers runtime, and whole-process tests in plain Node. */
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { upstream } from "./test/node/support/upstream.ts";

export default defineConfig(async () => ({
  test: {
    silent: "passed-only" as const,
    projects: [
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: "./wrangler.toml" },
            miniflare: {
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations(fileURLToPath(new URL("migrations", import.meta.url))),
                ENVIRONMENT: "local",
                ADMIN_TOKEN: "test-admin",
                ASSET_SIGNING_SECRET: "test-signing-secret",
                RATE_LIMITS: "off",
              },
              serviceBindings: { SANDBOX: upstream as never },
              // Messages wait longer than any test: tests deliver them themselves.
              queueConsumers: {
                "gateway-dispatch": { maxBatchSize: 100, maxBatchTimeout: 60 },
                "gateway-dead": { maxBatchSize: 100, maxBatchTimeout: 60 },
              },
            },
          }),
        ],
        test: {
          name: "gateway",
          include: ["test/**/*.test.ts"],
          exclude: ["test/sandbox/**", "test/node/**"],
          setupFiles: ["test/setup.ts"],
          provide: { faultSeeds: process.env["FAULT_SEEDS"] ?? "" },
        },
      },
      {
        plugins: [cloudflareTest({ wrangler: { configPath: "./src/sandbox/wrangler.toml" } })],
        // Its package maps a file to `false` for browsers, which the test runtime takes for a module named "node:".
        resolve: { alias: { mediabunny: fileURLToPath(new URL("node_modules/mediabunny/dist/bundles/mediabunny.mjs", import.meta.url)) } },
        test: { name: "sandbox", include: ["test/sandbox/**/*.test.ts"] },
      },
      { test: { name: "node", include: ["test/node/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
}));
