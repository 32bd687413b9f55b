/** Open tasks of all accounts, oldest first, with the stuck ones separately. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Button, cutId, DataTable, DateTime, lengthText, Money, Pager, SectionHead } from "../parts/index.ts";
import { Hono } from "hono";
import type { OpenTask } from "../../db/ledger-reports.ts";
import { openTasks } from "../ledger.ts";
import { readPlace, placeText, firstRows, withQuery } from "../list-address.ts";
import { adminPage } from "./frame.tsx";
import { isStuck, type State, toState } from "./task-state.ts";
import { dayMs } from "../../base/times.ts";

const pageSize = 20;
/** The time range of the list. Healthy tasks end within minutes: a day shows them all, longer ranges find leftovers. */
const spans = ["1", "7", "90"] as const;

type Row = OpenTask & { state: State };

const Rows = ({ c, rows }: { c: ConsoleContext; rows: Row[] }) => {
  const { t } = c.var;
  return (
    <DataTable
      label={t("task")}
      rows={rows}
      columns={[
        {
          name: t("task"),
          cell: ({ accountId, taskId }) => (
            <a href={`/console/admin/accounts/${accountId}/tasks/${taskId}`}>
              <code title={taskId}>{cutId(taskId)}</code>
            </a>
          ),
        },
        { name: t("status"), cell: ({ state }) => t(`admin_state_${state}`) },
        { name: t("model"), isExtra: true, cell: ({ model }) => model },
        { name: t("reserved"), isNumber: true, isExtra: true, cell: ({ held }) => <Money millionths={held} /> },
        { name: t("submitted_at"), cell: ({ at }) => <DateTime ms={at} /> },
        {
          name: t("account"),
          isExtra: true,
          cell: ({ accountId }) => (
            <a href={`/console/admin/accounts/${accountId}`}>
              <code title={accountId}>{cutId(accountId)}</code>
            </a>
          ),
        },
      ]}
    />
  );
};

async function list(c: ConsoleContext) {
  const { t } = c.var;
  const now = Date.now();
  const days = spans.find((span) => span === c.req.query("days")) ?? "1";
  const after = readPlace(c);
  const since = now - Number(days) * dayMs;
  const found = await openTasks(c, { since, limit: pageSize + 1, after: after && { at: after.at, taskId: after.id } });
  const { rows: open, last } = firstRows(found, pageSize);
  // Reading a record wakes its object, which sets a lost alarm again.
  const rows = await Promise.all(
    open.map(async (row) => ({ ...row, state: toState(await c.env.API.record(row.accountId, row.taskId), row.at, now) })),
  );
  const stuck = rows.filter(({ state }) => isStuck(state));
  const others = rows.filter(({ state }) => !isStuck(state));
  return adminPage(
    c,
    t("admin_open_tasks"),
    <>
      <p class="muted">{t("admin_open_hint")}</p>
      <form class="row gap0">
        <label class="row">
          {t("admin_span")}
          <select name="days" class="in auto">
            {spans.map((span) => (
              <option value={span} selected={span === days}>
                {lengthText(c.var.language, Number(span) * dayMs)}
              </option>
            ))}
          </select>
        </label>
        <Button class="btn" text={t("admin_look_again")} />
      </form>
      <section>
        <SectionHead title={t("admin_stuck")} />
        {stuck.length === 0 ? (
          <p class="muted" role="status">
            {t("admin_none_stuck")}
          </p>
        ) : (
          <Rows c={c} rows={stuck} />
        )}
      </section>
      <section>
        <SectionHead title={t("admin_running")} />
        {others.length === 0 ? <p class="muted">{t("nothing_runs")}</p> : <Rows c={c} rows={others} />}
      </section>
      <Pager
        next={last && withQuery("/console/admin/tasks", { days, after: placeText({ at: last.at, id: last.taskId }) })}
        nextText={t("admin_next")}
      />
    </>,
  );
}

export const tasks = new Hono<ConsoleEnvironment>().get("/", list);
