/** The first page: what is left, held and spent, and the latest tasks. */

import { Hono } from "hono";
import { spentByDay, startOfDays } from "../db/ledger-reports.ts";
import { readBalance, remaining } from "../db/ledger.ts";
import { askGateway, type ConsoleEnvironment, page, signedIn } from "./frame.tsx";
import { Money } from "./parts/money.tsx";
import { Figures } from "./parts/table.tsx";
import { type TaskRow, TaskTable } from "./parts/task-table.tsx";

export const overview = new Hono<ConsoleEnvironment>().get("/", signedIn, async (c) => {
  const say = c.get("say");
  const balance = (await readBalance(c.env.DB, c.get("account").id))!;
  const left = remaining(balance);
  const { data: tasks } = await (await askGateway(c, "/v1/tasks?limit=5")).json<{ data: TaskRow[] }>();
  const lastWeek = await spentByDay(c.env.DB, c.get("account").id, startOfDays(7, Date.now()));
  return page(
    c,
    say("overview"),
    <>
      <Figures
        of={[
          [say("remaining"), <Money millionths={left} />],
          [say("reserved"), <Money millionths={balance.reserved} />],
          [say("used"), <Money millionths={balance.used} />],
          [
            <a href="/console/usage?days=7">{say("usage_last_week")}</a>,
            <Money millionths={lastWeek.reduce((sum, { charged }) => sum + charged, 0)} />,
          ],
        ]}
      />
      {tasks.length > 0 && (
        <>
          <h2>{say("latest_tasks")}</h2>
          <TaskTable tasks={tasks} path="/console/tasks" />
        </>
      )}
    </>,
  );
});
