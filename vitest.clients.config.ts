/** Tests with official clients: unchanged, they call a whole gateway with the sandbox as its upstream (`npm run test:clients`). */
import { defineConfig } from "vitest/config";
import { keepTemporaryFilesInMemory } from "./scripts/support/temporary-files.ts";

keepTemporaryFilesInMemory();

export default defineConfig({
  test: {
    include: ["test/clients/**/*.test.ts"],
    globalSetup: ["test/clients/gateway.ts"],
    maxWorkers: 2,
    testTimeout: 180_000,
    hookTimeout: 300_000,
  },
});
