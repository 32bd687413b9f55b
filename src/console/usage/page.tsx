/** The usage page: what is left, what was charged by day and model, and the ledger one by one. */

import { Figures } from "../parts.tsx";
import { Hono } from "hono";
import { type Place, startOfDays } from "../../db/ledger-reports.ts";
import { remaining } from "../../db/ledger.ts";
import { balanceOf, entriesOf, spentOf } from "../ledger.ts";
import { amountOf } from "../amounts.ts";
import { type ConsoleContext, type ConsoleEnvironment, page, signedIn } from "../frame.tsx";
import { csv } from "./csv.ts";
import { ByDay } from "./by-day.tsx";
import { Ledger } from "./ledger.tsx";

const periods = [7, 30, 90];
const rowsOnPage = 50;

/** The days that are asked for, today included: one of the periods. */
const daysOf = (c: ConsoleContext) => periods.find((days) => String(days) === c.req.query("days")) ?? 30;

/** `{milliseconds}_{task}`, as the link to older entries has it. */
function placeOf(text = ""): Place | undefined {
  const [, at, taskId] = /^(\d{1,15})_(\w[\w-]*)$/.exec(text) ?? [];
  return at && taskId ? { at: Number(at), taskId } : undefined;
}

async function usagePage(c: ConsoleContext) {
  const { say, account } = c.var;
  const days = daysOf(c);
  const since = startOfDays(days, Date.now());
  const after = placeOf(c.req.query("after"));
  const [balance, spent, read] = await Promise.all([balanceOf(c, account.id), spentOf(c, account.id, since), entriesOf(c, account.id)]);
  const entries = await read({ since, after, limit: rowsOnPage + 1 });
  const left = remaining(balance);
  const shown = entries.slice(0, rowsOnPage);
  const last = entries.length > rowsOnPage ? shown.at(-1) : undefined;
  return page(
    c,
    say("usage"),
    <>
      <Figures
        of={[
          [say("remaining"), amountOf(c, left)],
          [say("reserved"), amountOf(c, balance.reserved)],
          [say("used"), amountOf(c, balance.used)],
        ]}
      />
      <nav aria-label={say("usage_period")}>
        <ul>
          {periods.map((period) => (
            <li>
              <a href={`/console/usage?days=${period}`} aria-current={period === days ? "page" : undefined}>
                {say("usage_days", { days: period })}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <h2 id="days">{say("usage_by_day")}</h2>
      <ByDay c={c} spent={spent} since={since} days={days} />
      <h2 id="charges">{say("usage_charges")}</h2>
      <Ledger c={c} entries={shown} />
      <p class="actions">
        {after && <a href={`/console/usage?days=${days}#charges`}>{say("usage_newest")}</a>}
        {last && <a href={`/console/usage?days=${days}&after=${last.at}_${last.taskId}#charges`}>{say("usage_older")}</a>}
        {entries.length > 0 && <a href={`/console/usage/charges.csv?days=${days}`}>{say("usage_csv", { days })}</a>}
      </p>
    </>,
  );
}

/** Every entry of the period, as a file. */
async function download(c: ConsoleContext) {
  const now = Date.now();
  const since = startOfDays(daysOf(c), now);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return c.body(csv(await entriesOf(c, c.var.account.id), since), 200, {
    "content-type": "text/csv; charset=utf-8; header=present",
    "content-disposition": `attachment; filename="charges-${day(since)}-${day(now)}.csv"`,
  });
}

export const usage = new Hono<ConsoleEnvironment>().use(signedIn).get("/", usagePage).get("/charges.csv", download);
