/** `npm run test:browser`: Chromium against a running gateway. */
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/support/setup.ts"],
    // Two cores are enough for two browsers' pages and one gateway.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // The same time limit as Playwright's default.
    expect: { poll: { timeout: 10_000 } },
  },
});
