/** The columns of the ledger as a CSV file. */

import type { Entry } from "../../db/ledger-reports.ts";
import { decimal } from "../amounts.ts";

export const columns: Record<string, (entry: Entry) => string> = {
  submitted: ({ at }) => new Date(at).toISOString(),
  ended: ({ closedAt }) => (closedAt === null ? "" : new Date(closedAt).toISOString()),
  task: ({ taskId }) => taskId,
  kind: ({ kind }) => kind,
  model: ({ model }) => model,
  key: ({ keyName }) => keyName ?? "",
  reserved: ({ held }) => decimal(held),
  charged: ({ charged }) => (charged === null ? "" : decimal(charged)),
  returned: ({ held, charged }) => (charged === null ? "" : decimal(held - charged)),
  outcome: ({ outcome }) => outcome ?? "",
};
