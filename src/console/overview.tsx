/** The first page: what is left, held and spent, and the latest tasks. */

import { Hono } from "hono";
import { startOfDays } from "../db/ledger-reports.ts";
import { remaining } from "../db/ledger.ts";
import { balanceOf, spentOf } from "./ledger.ts";
import { amountOf } from "./amounts.ts";
import { askGateway, type ConsoleEnvironment, page, signedIn } from "./frame.tsx";
import { Figures, type TaskRow, TaskTable } from "./parts.tsx";

export const overview = new Hono<ConsoleEnvironment>().get("/", signedIn, async (c) => {
  const say = c.get("say");
  const balance = await balanceOf(c, c.get("account").id);
  const left = remaining(balance);
  const { data: tasks } = await (await askGateway(c, "/v1/tasks?limit=5")).json<{ data: TaskRow[] }>();
  const lastWeek = await spentOf(c, c.get("account").id, startOfDays(7, Date.now()));
  return page(
    c,
    say("overview"),
    <>
      <Figures
        of={[
          [say("remaining"), amountOf(c, left)],
          [say("reserved"), amountOf(c, balance.reserved)],
          [say("used"), amountOf(c, balance.used)],
          [
            <a href="/console/usage?days=7">{say("usage_last_week")}</a>,
            amountOf(
              c,
              lastWeek.reduce((sum, { charged }) => sum + charged, 0),
            ),
          ],
        ]}
      />
      {tasks.length > 0 && (
        <>
          <h2>{say("latest_tasks")}</h2>
          <TaskTable c={c} tasks={tasks} path="/console/tasks" />
        </>
      )}
    </>,
  );
});
