/** The attempts at an address outside, such as a receiver of webhooks or a bucket: the outcome of each, how long it took, and when it was. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { TimeOfDay } from "./date-time.tsx";
import { DataTable } from "./table.tsx";

interface Attempt {
  /** Seconds since the epoch. */
  at: number;
  ms: number;
}

interface Props<A> {
  label: string;
  attempts: readonly A[];
  outcome: (attempt: A) => Child;
}

/** Nothing before the first attempt. */
export function AttemptTable<A extends Attempt>({ label, attempts, outcome }: Props<A>) {
  const { t } = useAround();
  if (attempts.length === 0) return null;
  return (
    <div class="gap0">
      <DataTable
        label={label}
        rows={attempts}
        columns={[
          { name: "#", cell: (_, at) => at + 1 },
          { name: t("callback_result"), cell: outcome },
          { name: t("callback_took"), isNumber: true, cell: ({ ms }) => `${ms} ms` },
          { name: t("callback_when"), isNumber: true, cell: ({ at }) => <TimeOfDay ms={1000 * at} /> },
        ]}
      />
    </div>
  );
}
