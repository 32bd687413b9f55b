/** `npm run test:programs`: whole processes in plain Node: the scripts, the documentation's and the examples' programs, the bundled Workers. */
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    include: ["test/programs/**/*.test.ts"],
    globalSetup: ["test/clients/gateway.ts"],
    silent: "passed-only",
    // More than the two cores that a runner has: processes mostly wait for each other.
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
