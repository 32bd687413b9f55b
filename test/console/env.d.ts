/** The bindings of the console, in addition to the gateway's, for its tests. */

declare namespace Cloudflare {
  interface Env extends ConsoleEnv {
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
}
