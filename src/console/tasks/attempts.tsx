/** The providers that were asked to do a task and what each bills, for admins: callers never see them. */

import type { Task } from "../../tasks/record.ts";
import { countAttempts } from "../../tasks/answers/receipt.ts";
import { attemptName } from "../../db/settled-sums.ts";
import { Money, Pill, SectionHead, shownStatus, statusWord, Table, useAround } from "../parts/index.ts";
import type { Translate } from "../messages.ts";

const tones = { queued: "", in_progress: "run", completed: "good", failed: "bad", cancelled: "" } as const;
const icons = { queued: "clock", in_progress: "spin", completed: "ok", failed: "bad", cancelled: "ban" };

/** The outcome of the route at an index; undefined if it was not asked, and `isCurrent` if its end is that of the task. */
export function readAttempt(t: Translate, record: Task, at: number): { outcome: string; isCurrent: boolean } | undefined {
  const status = shownStatus(record);
  const attempt = record.attempts[at];
  // Earlier work can become the current one again; its attempt says only why the next route was asked.
  if (attempt && (at !== record.route || status === "failed")) return { outcome: attempt.outcome, isCurrent: false };
  return at < countAttempts(record) ? { outcome: statusWord(t, status), isCurrent: true } : undefined;
}

export const Attempts = ({ record }: { record: Task }) => {
  const { t } = useAround();
  const { submission } = record;
  const status = shownStatus(record);
  const asked = submission.routes.flatMap(({ provider, model }, at) => {
    const attempt = readAttempt(t, record, at);
    return attempt ? [{ provider, model, ...attempt }] : [];
  });
  if (asked.length === 0) return null;
  const costs = record.costs ?? {};
  const total = Object.values(costs).reduce((sum: number, cost) => sum + (cost ?? 0), 0);
  const cost = (at: number) => {
    const route = submission.routes[at];
    const known = route && costs[attemptName(at, route)];
    return known === undefined || known === null ? "–" : <Money millionths={known} />;
  };
  return (
    <section>
      <SectionHead title={t("task_attempts")}>
        <span class="meta">{t("for_admins")}</span>
      </SectionHead>
      <Table
        label={t("task_attempts")}
        columns={[
          "#",
          t("admin_provider"),
          { name: t("upstream_model"), isExtra: true },
          t("callback_result"),
          { name: t("admin_margin_cost"), isNumber: true },
        ]}
        foot={
          record.charged === undefined || Object.keys(costs).length === 0 ? undefined : (
            <tr>
              <th scope="row" colspan={2}>
                {t("admin_margin")}
              </th>
              <td class="hide-s" />
              <td>
                <span class={total > record.charged ? "loses" : undefined}>
                  <Money millionths={record.charged - total} />
                </span>
              </td>
              <td class="num">
                <Money millionths={total} />
              </td>
            </tr>
          )
        }
      >
        {asked.map(({ provider, model, outcome, isCurrent }, at) => (
          <tr>
            <td>{at + 1}</td>
            <th scope="row">{provider}</th>
            <td class="hide-s">
              <code class="id">{model}</code>
            </td>
            <td>
              <Pill icon={isCurrent ? icons[status] : "bad"} tone={isCurrent ? tones[status] : "bad"} text={outcome} />
            </td>
            <td class="num">{cost(at)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
};
