/** Settled entries, as a wallet object writes them to D1. */

import type { SettledEntry } from "../../src/db/grants.ts";
import type { Account } from "./gateway.ts";

/** The entry of an image task that ended at `closedAt` (milliseconds) and cost nothing. */
export const settledImage = ({ keyId }: Account, taskId: string, closedAt: number): SettledEntry => ({
  taskId,
  keyId,
  kind: "image",
  model: "imgA-4",
  held: 0,
  charged: 0,
  outcome: "completed",
  at: closedAt - 1,
  closedAt,
});
