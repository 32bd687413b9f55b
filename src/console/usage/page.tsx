/** The usage page: balance, charges by day and model, and the ledger's entries. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { type Place, startOfDays } from "../../db/ledger-reports.ts";
import { remaining } from "../../db/ledger.ts";
import { readBalance, readEntries, readSpent } from "../ledger.ts";
import { notYourRole, page, signedIn } from "../frame.tsx";
import { csv, csvHeaders } from "./csv.ts";
import { ByDay } from "./by-day.tsx";
import { downloadFocus, type Group, Grouped, parseGroup, readGrouped } from "./grouped.tsx";
import { Ledger } from "./ledger.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { Stats } from "../parts/table.tsx";

const periods = [7, 30, 90];
const rowsOnPage = 50;

/** The number of requested days, including today: one of the periods. */
const parseDays = (c: ConsoleContext) => periods.find((days) => String(days) === c.req.query("days")) ?? 30;

/** The page with this period and grouping; the default grouping is left out. */
const pathWith = (days: number, group: Group, after?: Place) =>
  `/console/usage?days=${days}${group === "key" ? "" : `&by=${group}`}${after ? `&after=${after.at}_${after.taskId}` : ""}`;

/** The position `{milliseconds}_{task}` in the link to older entries. */
function parsePlace(text = ""): Place | undefined {
  const [, at, taskId] = /^(\d{1,15})_(\w[\w-]*)$/.exec(text) ?? [];
  return at && taskId ? { at: Number(at), taskId } : undefined;
}

async function usagePage(c: ConsoleContext) {
  const { t, account } = c.var;
  // The ledger names the tasks of the whole account.
  const isMember = c.get("membership").role === "member";
  const days = parseDays(c);
  const since = startOfDays(days, Date.now());
  const after = parsePlace(c.req.query("after"));
  const group = parseGroup(c.req.query("by"));
  const [balance, spent, read, grouped] = await Promise.all([
    readBalance(c, account.id),
    readSpent(c, account.id, since),
    isMember ? undefined : readEntries(c, account.id),
    readGrouped(c, group, since),
  ]);
  const entries = (await read?.({ since, after, limit: rowsOnPage + 1 })) ?? [];
  const shown = entries.slice(0, rowsOnPage);
  const last = entries.length > rowsOnPage ? shown.at(-1) : undefined;
  const total = spent.reduce((sum, { charged }) => sum + charged, 0);
  return page(
    c,
    t("usage"),
    <>
      <section>
        <Stats
          of={[
            [t("usage_spent_in", { days }), <Money millionths={total} />],
            [t("remaining"), <Money millionths={remaining(balance)} />],
            [t("reserved"), <Money millionths={balance.reserved} />],
            [t("used"), <Money millionths={balance.used} />, t("usage_used_since")],
          ]}
        />
      </section>
      <section>
        <ByDay spent={spent} since={since} days={days} />
      </section>
      <section>
        <Grouped group={group} rows={grouped} days={days} />
      </section>
      {!isMember && (
        <section>
          <div class="sub">
            <h2 id="charges">{t("usage_charges")}</h2>
          </div>
          <Ledger entries={shown} />
          {(after || last) && (
            <p class="pager">
              {after && (
                <a class="btn sm" href={`${pathWith(days, group)}#charges`}>
                  {t("usage_newest")}
                </a>
              )}
              {last && (
                <a class="btn sm push" href={`${pathWith(days, group, last)}#charges`}>
                  {t("usage_older")}
                </a>
              )}
            </p>
          )}
        </section>
      )}
    </>,
    200,
    { actions: <Actions c={c} days={days} group={group} hasEntries={entries.length > 0} /> },
  );
}

/** The choice of the period, and the download of its entries. */
const Actions = ({ c, days, group, hasEntries }: { c: ConsoleContext; days: number; group: Group; hasEntries: boolean }) => {
  const { t } = c.var;
  return (
    <>
      <nav class="seg" aria-label={t("usage_period")}>
        {periods.map((period) => (
          <a href={pathWith(period, group)} aria-current={period === days ? "page" : undefined}>
            {t("usage_days", { days: period })}
          </a>
        ))}
      </nav>
      {hasEntries && (
        <a class="btn" href={`/console/usage/charges.csv?days=${days}`} aria-label={t("usage_csv", { days })}>
          <Icon name="down" />
          CSV
        </a>
      )}
      {hasEntries && (
        <a class="btn" href={`/console/usage/focus.csv?days=${days}`} aria-label={t("usage_focus", { days })}>
          <Icon name="down" />
          FOCUS
        </a>
      )}
    </>
  );
};

/** Downloads every entry of the period. */
async function download(c: ConsoleContext) {
  if (c.get("membership").role === "member") return notYourRole(c);
  const now = Date.now();
  const since = startOfDays(parseDays(c), now);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return c.body(csv(await readEntries(c, c.var.account.id), since), 200, csvHeaders(`charges-${day(since)}-${day(now)}`));
}

export const usage = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", usagePage)
  .get("/charges.csv", download)
  .get("/focus.csv", (c) => downloadFocus(c, startOfDays(parseDays(c), Date.now())));
