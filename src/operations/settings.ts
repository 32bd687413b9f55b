/** The limits of the database and of the ledger, read from the operations Worker's variables. */

import { dayMs } from "../base/times.ts";
import { listWrong, readNumber, VariableError } from "../base/variables.ts";
import { recordMs } from "./erase.ts";
import type { ReceiverSettings } from "./deliver.ts";
import { alertAddress, alertSecret, missingForReceivers } from "./receivers.ts";

type Settings = Pick<OperationsBindings, "AUDIT_DAYS" | "DATABASE_MAX_MB" | "LEDGER_DAYS" | "LEDGER_MAX_MB"> & ReceiverSettings;

/** The maximum size of the database in megabytes. Throws `VariableError`, like all of these functions. */
export const databaseMaxMB = ({ DATABASE_MAX_MB }: Settings) => readNumber("DATABASE_MAX_MB", DATABASE_MAX_MB, 10_000);

/** After how many days settled entries are archived. */
export function ledgerDays({ LEDGER_DAYS }: Settings): number {
  const days = readNumber("LEDGER_DAYS", LEDGER_DAYS, 35);
  // Usage by reference relies on this: the entries of a month are archived before its daily sums are added up.
  if (days * dayMs < recordMs + dayMs || days > 365)
    throw new VariableError("LEDGER_DAYS", "must be from 9 to 365: records of tasks are kept for a week, daily sums for thirteen months");
  return days;
}

/** The size of the database, in bytes, above which entries are archived as early as possible. */
export const ledgerMaxBytes = ({ LEDGER_MAX_MB }: Settings) => 1e6 * readNumber("LEDGER_MAX_MB", LEDGER_MAX_MB, 2_500);

/** How many days the audit log is kept. */
export const auditDays = ({ AUDIT_DAYS }: Pick<Settings, "AUDIT_DAYS">) => readNumber("AUDIT_DAYS", AUDIT_DAYS, 400);

/** A message for each invalid variable, and for each receiver of alerts that lacks something, without values. Also read by `npm run deploy`, before it deploys. */
export const wrongSettings = (settings: Settings): string[] => [
  ...listWrong([auditDays, databaseMaxMB, ledgerDays, ledgerMaxBytes, alertAddress, alertSecret], settings),
  ...missingForReceivers((name) => Boolean(settings[name])),
];
