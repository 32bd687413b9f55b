/** Tells the owners of accounts whose balance has fallen below their threshold. A crash between e-mail and note sends it once more. */

import { alert } from "../base/log.ts";
import { listLow, setTold } from "../db/low-balances.ts";
import type { Objects } from "../rpc/objects.ts";

const accountsPerRun = 100;

export async function tellLowBalances({ DB }: Pick<OperationsBindings, "DB">, objects: Pick<Objects, "mailLowBalance">): Promise<void> {
  for (const low of await listLow(DB, accountsPerRun)) {
    try {
      await objects.mailLowBalance(low);
      await setTold(DB, low, Date.now());
    } catch (error) {
      // The other accounts are not kept waiting; the next run tries this one again.
      alert("low_balance", { account: low.accountId, outcome: "retry" }, error);
    }
  }
}
