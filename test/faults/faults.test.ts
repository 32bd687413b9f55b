/** Random operations with injected faults, payments by Stripe among them, and the invariants that must hold afterwards. `FAULT_SEEDS` ("7", "1-200") chooses other runs. */

import "../support/alone.ts";
import { afterAll, inject, test, vi } from "vitest";
import { StripeBank } from "./payments.ts";
import { run } from "./run.ts";
import { endAll } from "./fault-injector.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The seeds from the environment. */
    faultSeeds: string;
  }
}

const [first = 1, last = first] = (inject("faultSeeds") || "1-20").split("-").map(Number);

vi.useFakeTimers({ toFake: ["Date"] });
afterAll(() => void endAll());

test.each(Array.from({ length: last - first + 1 }, (_, at) => first + at))(
  "seed %i",
  (seed) => run(seed, (world) => StripeBank.open(world)),
  60_000,
);
