/** A database that is restored during a run, while the objects keep what they know. */

import { expect } from "vitest";
import { asAdmin } from "../support/gateway.ts";
import { backUp, restore } from "../operations/backup.ts";
import type { World } from "./world.ts";

/** Makes a copy of the database; the returned function puts it back, and reconciles as docs/operations.md says. */
export async function takeBackup(world: World): Promise<() => Promise<void>> {
  const backup = await backUp();
  return async () => {
    // What was sent to the database before the restore is lost with it.
    world.faultInjector.late.length = 0;
    await restore(backup);
    await world.noteLostCharacters();
    for (let after: string | null = ""; after !== null;) {
      const { status, body } = await asAdmin(`/reconcile${after && `?after=${after}`}`, { method: "POST" });
      expect(status).toBe(200);
      after = body.after as string | null;
    }
    world.trace.push("database restored and reconciled");
  };
}
