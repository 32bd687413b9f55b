/** The attempts at an address outside, such as a receiver of webhooks or a bucket: the outcome of each, how long it took, and when it was. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { TimeOfDay } from "./date-time.tsx";
import { Table } from "./table.tsx";

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
      <Table
        label={label}
        columns={["#", t("callback_result"), { name: t("callback_took"), isNumber: true }, { name: t("callback_when"), isNumber: true }]}
      >
        {attempts.map((attempt, at) => (
          <tr>
            <th scope="row">{at + 1}</th>
            <td>{outcome(attempt)}</td>
            <td class="num">{attempt.ms} ms</td>
            <td class="num">
              <TimeOfDay ms={1000 * attempt.at} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
