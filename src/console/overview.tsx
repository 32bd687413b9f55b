/** The first page: what is left, held and spent, and the latest tasks. */

import { Hono } from "hono";
import { spentByDay, startOfDays } from "../ledger.ts";
import { balanceOf, remaining } from "../quota.ts";
import { amountIn } from "./amounts.ts";
import { Moment } from "./layout.tsx";
import { askGateway, type ConsoleEnvironment, page, signedIn } from "./frame.tsx";

interface TaskRow {
  id: string;
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  created_at: number;
}

export const overview = new Hono<ConsoleEnvironment>().get("/", signedIn, async (c) => {
  const say = c.get("say");
  const balance = (await balanceOf(c.env.DB, c.get("account").id))!;
  const left = remaining(balance);
  const { data: tasks } = await (await askGateway(c, "/v1/tasks?limit=5")).json<{ data: TaskRow[] }>();
  const lastWeek = await spentByDay(c.env.DB, c.get("account").id, startOfDays(7, Date.now()));
  const amount = (millionths: number) => `${amountIn(c.get("language"), millionths)} ${c.env.BALANCE_UNIT}`;
  return page(
    c,
    say("overview"),
    <>
      <dl class="figures">
        <div>
          <dt>{say("remaining")}</dt>
          <dd>{left === null ? say("unlimited") : amount(left)}</dd>
        </div>
        <div>
          <dt>{say("reserved")}</dt>
          <dd>{amount(balance.reserved)}</dd>
        </div>
        <div>
          <dt>{say("used")}</dt>
          <dd>{amount(balance.used)}</dd>
        </div>
        <div>
          <dt>
            <a href="/console/usage?days=7">{say("usage_last_week")}</a>
          </dt>
          <dd>{amount(lastWeek.reduce((sum, { charged }) => sum + charged, 0))}</dd>
        </div>
      </dl>
      {tasks.length > 0 && (
        <>
          <h2>{say("latest_tasks")}</h2>
          <div class="overflow-auto" tabindex={0} role="region" aria-label={say("latest_tasks")}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{say("task")}</th>
                  <th scope="col">{say("model")}</th>
                  <th scope="col">{say("status")}</th>
                  <th scope="col">{say("created")}</th>
                </tr>
              </thead>
              <tbody>
                {tasks.map((task) => (
                  <tr>
                    <th scope="row">
                      <a href={`/console/tasks/${task.id}`}>
                        <code>{task.id}</code>
                      </a>
                    </th>
                    <td>{task.model}</td>
                    <td>{say(task.status === "failed" ? "failed_status" : task.status)}</td>
                    <td>
                      <Moment ms={1000 * task.created_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </>,
  );
});
