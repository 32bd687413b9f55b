/** Open tasks of all accounts, oldest first, with the stuck ones separately. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { cutId } from "../parts/ids.ts";
import { Money } from "../parts/money.tsx";
import { Hono } from "hono";
import type { OpenTask, Place } from "../../db/ledger-reports.ts";
import { openTasks } from "../ledger.ts";
import { adminPage } from "./frame.tsx";
import { isStuck, type State, toState } from "./task-state.ts";
import { DateTime } from "../parts/date-time.tsx";
import { Pager } from "../parts/pager.tsx";
import { SectionHead } from "../parts/section-head.tsx";
import { DataTable } from "../parts/table.tsx";

const pageSize = 20;
const dayMs = 86_400_000;
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
        { name: t("reserved"), isNumber: true, cell: ({ held }) => <Money millionths={held} /> },
        { name: t("admin_since"), cell: ({ at }) => <DateTime ms={at} /> },
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

/** `{milliseconds}_{task}` in the link to the next page. */
function parsePlace(text = ""): Place | undefined {
  const [, at, taskId] = /^(\d{1,15})_(\w[\w-]*)$/.exec(text) ?? [];
  return at && taskId ? { at: Number(at), taskId } : undefined;
}

async function list(c: ConsoleContext) {
  const { t } = c.var;
  const now = Date.now();
  const days = spans.find((span) => span === c.req.query("days")) ?? "1";
  const found = await openTasks(c, { since: now - Number(days) * dayMs, limit: pageSize + 1, after: parsePlace(c.req.query("after")) });
  // Reading a record wakes its object, which sets a lost alarm again.
  const rows = await Promise.all(
    found
      .slice(0, pageSize)
      .map(async (row) => ({ ...row, state: toState(await c.env.API.record(row.accountId, row.taskId), row.at, now) })),
  );
  const next = new URLSearchParams({ days, after: `${rows.at(-1)?.at}_${rows.at(-1)?.taskId}` });
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
                {t(`admin_days_${span}`)}
              </option>
            ))}
          </select>
        </label>
        <button class="btn">{t("admin_look_again")}</button>
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
      <Pager next={found.length > pageSize ? `/console/admin/tasks?${next}` : undefined} nextText={t("admin_next")} />
    </>,
  );
}

export const tasks = new Hono<ConsoleEnvironment>().get("/", list);
