/** The accounts of a run, with one key each, and what may be wrong with their wallets. */

import type { AdminClient, Wallets } from "../support/admin-client.ts";
import type { Wallet } from "../support/api-answers.ts";
import { micro } from "../support/bill.ts";
import type { Account } from "./history.ts";

/** A new account with one key; the quotas are in balance units, null is no limit. */
export async function createAccount(admin: AdminClient, name: string, quota: number | null, keyQuota: number | null): Promise<Account> {
  const { id } = await admin.account(`${name}@example.com`, quota, name);
  const key = await admin.createKey(id, "key", keyQuota);
  return { name, id, keyId: key.id, apiKey: key.key, isTight: false };
}

/** What is wrong with the wallets of an account and its only key: amounts below zero, quotas that are not the sums of their parts, a difference. */
export function walletFaults(name: string, { account, key }: Wallets): string[] {
  const faults = [...amountFaults(`${name}, account`, account), ...amountFaults(`${name}, key`, key)];
  if (account.used !== key.used || account.reserved !== key.reserved)
    faults.push(`${name}: the account used ${account.used} and reserved ${account.reserved}, its only key ${key.used} and ${key.reserved}`);
  return faults;
}

function amountFaults(name: string, { quota, used, reserved, remaining }: Wallet): string[] {
  const faults: string[] = [];
  if (used < 0 || reserved < 0 || (remaining ?? 0) < 0)
    faults.push(`${name}: below zero: used ${used}, reserved ${reserved}, remaining ${remaining}`);
  if ((quota === null) !== (remaining === null)) faults.push(`${name}: quota ${quota}, remaining ${remaining}`);
  if (quota !== null && micro(quota) !== micro(remaining ?? 0) + micro(used) + micro(reserved))
    faults.push(`${name}: quota ${quota} is not remaining ${remaining} + used ${used} + reserved ${reserved}`);
  return faults;
}
