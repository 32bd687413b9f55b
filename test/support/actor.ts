/** The actor of changes that tests make without a request. */

import type { Actor } from "../../src/db/audit-log.ts";

export const byTest: Actor = { kind: "system", id: "test", address: null };
