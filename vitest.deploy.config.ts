/** `npm run test:deploy`: the real wrangler against an emulation of Cloudflare's API, in plain Node. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/deploy/**/*.test.ts"],
    // Each test bundles the Workers several times.
    testTimeout: 300_000,
    maxWorkers: 2,
  },
});
