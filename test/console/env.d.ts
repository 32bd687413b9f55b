/** The console Worker's bindings, for its tests. */

declare namespace Cloudflare {
  interface Env extends ConsoleEnv {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
  interface GlobalProps {
    mainModule: typeof import("../../src/console/worker.tsx");
  }
}
