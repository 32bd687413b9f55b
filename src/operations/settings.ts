/** The limits of the database and of the ledger, read from the operations Worker's variables. */

import { readNumber, VariableError } from "../variables.ts";
import { recordMs } from "./erase.ts";

type Settings = Pick<OperationsBindings, "DATABASE_MAX_MB" | "LEDGER_DAYS" | "LEDGER_MAX_MB">;

const dayMs = 86_400_000;

/** The size at which the database takes no more writes, in megabytes. Throws `VariableError`, as all of these do. */
export const databaseMaxMB = ({ DATABASE_MAX_MB }: Settings) => readNumber("DATABASE_MAX_MB", DATABASE_MAX_MB, 10_000);

/** After how many days settled entries are archived. */
export function ledgerDays({ LEDGER_DAYS }: Settings): number {
  const days = readNumber("LEDGER_DAYS", LEDGER_DAYS, 35);
  // Usage by reference takes it for granted that entries of a month are archived when its daily sums are added up.
  if (days * dayMs < recordMs + dayMs || days > 365)
    throw new VariableError("LEDGER_DAYS", "must be from 9 to 365: records of tasks are kept for a week, daily sums for thirteen months");
  return days;
}

/** The size of the database, in bytes, above which entries are archived as soon as they can be. */
export const ledgerMaxBytes = ({ LEDGER_MAX_MB }: Settings) => 1e6 * readNumber("LEDGER_MAX_MB", LEDGER_MAX_MB, 2_500);

/** What is wrong with the variables: a sentence for each that is, without its value. */
export const wrongSettings = (settings: Settings): string[] =>
  [databaseMaxMB, ledgerDays, ledgerMaxBytes].flatMap((read) => {
    try {
      read(settings);
      return [];
    } catch (error) {
      if (error instanceof VariableError) return [error.message];
      throw error;
    }
  });
