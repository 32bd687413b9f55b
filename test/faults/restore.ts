/** A database that is restored during a run, while the objects keep what they know. */

import { expect } from "vitest";
import { asAdmin, call } from "../support/gateway.ts";
import { backUp, restore } from "../operations/backup.ts";
import { advance, type World } from "./world.ts";

/**
 * Makes a copy of the database. The returned function deletes a key, puts the copy back, and reconciles as docs/operations.md says: the key
 * works at no time, and the account's other one as soon as the deletion was made again.
 */
export async function takeBackup(world: World): Promise<() => Promise<void>> {
  const account = world.random.pick(world.accounts);
  const { body: leaked } = await asAdmin(`/accounts/${account.id}/keys`, { body: { name: "leaked", quota: null } });
  const backup = await backUp();
  const readStatus = async ({ key }: { key: string }) => {
    advance(10); // longer than a key is cached
    return (await call("/v1/balance", { key })).status;
  };
  return async () => {
    expect((await asAdmin(`/keys/${leaked.id}`, { method: "DELETE" })).status).toBe(204);
    expect([await readStatus(leaked), await readStatus(account)]).toEqual([401, 200]);
    // What was sent to the database before the restore is lost with it.
    world.faultInjector.late.length = 0;
    await restore(backup);
    world.isRestored = true;
    await world.noteLostCharacters();
    expect([await readStatus(leaked), await readStatus(account)]).toEqual([401, 401]);
    for (let after: string | null = ""; after !== null;) {
      const { status, body } = await asAdmin(`/reconcile?restored=replay${after && `&after=${after}`}`, { method: "POST" });
      expect(status).toBe(200);
      after = body.after as string | null;
    }
    expect([await readStatus(leaked), await readStatus(account)]).toEqual([401, 200]);
    world.trace.push("database restored and reconciled");
  };
}
