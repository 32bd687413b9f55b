/** The providers that were asked to do a task and what each bills, for admins: callers never see them. */

import type { Task } from "../../tasks/record.ts";
import { attemptName } from "../../db/settled-sums.ts";
import { useAround } from "../parts/context.ts";
import { Money } from "../parts/money.tsx";
import { SectionHead } from "../parts/section-head.tsx";
import { Pill, shownStatus, statusWord } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";

const tones = { queued: "", in_progress: "run", completed: "good", failed: "bad", cancelled: "" } as const;
const icons = { queued: "clock", in_progress: "spin", completed: "ok", failed: "bad", cancelled: "ban" };

export const Attempts = ({ record }: { record: Task }) => {
  const { t } = useAround();
  const { attempts, route, submission } = record;
  const status = shownStatus(record);
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
        {submission.routes.slice(0, Math.max(route + 1, attempts.length)).map(({ provider, model }, at) => (
          <tr>
            <td>{at + 1}</td>
            <th scope="row">{provider}</th>
            <td class="hide-s">
              <code class="id">{model}</code>
            </td>
            <td>
              {attempts[at] ? (
                <Pill icon="bad" tone="bad" text={attempts[at].outcome} />
              ) : (
                <Pill icon={icons[status]} tone={tones[status]} text={statusWord(t, status)} />
              )}
            </td>
            <td class="num">{cost(at)}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
};
