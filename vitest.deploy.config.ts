/** `npm run test:deploy`: the real wrangler against an emulation of Cloudflare's API, in plain Node. */
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    include: ["test/deploy/**/*.test.ts"],
    // Each test bundles the Workers several times.
    testTimeout: 300_000,
    maxWorkers: 2,
  },
});
