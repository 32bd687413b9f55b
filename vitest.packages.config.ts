/** The packages of `clients/` used like their users do: installed in an empty folder, against a whole gateway (`npm run test:packages`, after `npm run packages`). */
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    include: ["test/packages/**/*.test.ts"],
    globalSetup: ["test/packages/gateway.ts"],
    maxWorkers: 1,
    testTimeout: 300_000,
    hookTimeout: 180_000,
  },
});
