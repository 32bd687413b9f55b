/** The console's bindings beside the gateway's, for its tests. */

declare namespace Cloudflare {
  interface Env extends ConsoleEnv {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
}
