/** The usage page: spending, runs and pace, charges by day, model, key or reference, budgets, and the ledger's entries. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { type Entry, type Place, startOfDays } from "../../db/ledger-reports.ts";
import { remaining } from "../../db/ledger.ts";
import { decimal, percentText } from "../amounts.ts";
import { daysLeft, rateDays } from "../billing/series.ts";
import { type Columns, sendCsv } from "../downloads.ts";
import { readBalance, readEntries, readSpent, readUses } from "../ledger.ts";
import { notYourRole, page, signedIn } from "../frame.tsx";
import { readPlace, placeText, firstRows } from "../list-address.ts";
import { Budgets, readLimits } from "./budgets.tsx";
import { ByDay } from "./by-day.tsx";
import { downloadFocus, type Group, Grouped, parseGroup, readGrouped } from "./grouped.tsx";
import { Ledger } from "./ledger.tsx";
import { type Period, Periods, readPeriod } from "./period.tsx";
import { Filled, Link, Money, Pager, Problem, SectionHead, Stats, useAround } from "../parts/index.ts";
import { toDate } from "../../base/times.ts";

const rowsOnPage = 50;

/** What the address has besides the period; the default grouping is left out. */
const withGroup = (group: Group) => (group === "key" ? "" : `&by=${group}`);
const pathWith = ({ query }: Period, group: Group, after?: Place) =>
  `/console/usage?${query}${withGroup(group)}${after ? `&after=${placeText({ at: after.at, id: after.taskId })}` : ""}`;

async function usagePage(c: ConsoleContext) {
  const { t, account, language } = c.var;
  // The ledger names the tasks of the whole account.
  const isMember = c.var.membership.role === "member";
  const period = readPeriod(c);
  const { since, until, days, own } = period;
  const now = Date.now();
  const after = readPlace(c);
  const group = parseGroup(c.req.query("by"));
  const [balance, charged, uses, read, grouped, limits] = await Promise.all([
    readBalance(c, account.id),
    readSpent(c, account.id, Math.min(since, startOfDays(rateDays, now))),
    readUses(c, account.id, since, until),
    isMember ? undefined : readEntries(c, account.id),
    readGrouped(c, group, period),
    readLimits(c),
  ]);
  const spent = charged.filter(({ day }) => day >= since && day < until);
  const begin = after ? { at: after.at, taskId: after.id } : endOf(until);
  const { rows: shown, last } = firstRows((await read?.({ since, after: begin, limit: rowsOnPage + 1 })) ?? [], rowsOnPage);
  const total = spent.reduce((sum, one) => sum + one.charged, 0);
  const runs = uses.reduce((sum, one) => sum + one.runs, 0);
  const completed = uses.reduce((sum, one) => sum + one.completed, 0);
  const left = remaining(balance);
  // A member's charges are not all that the balance pays.
  const lasts = isMember ? undefined : daysLeft(left, charged, now);
  return page(
    c,
    t("usage"),
    <>
      {own?.isRefused && (
        <section>
          <Problem text={t("usage_bad_dates")} />
        </section>
      )}
      <section>
        <Stats
          of={[
            [
              t("usage_spent_in", { days }),
              <Money millionths={total} />,
              <Filled message="usage_used_since" by={{ amount: <Money millionths={balance.used} /> }} />,
            ],
            [
              t("usage_runs"),
              runs.toLocaleString(language),
              runs === 0 ? undefined : t("usage_runs_completed", { share: percentText(language, completed / runs) }),
            ],
            [
              t("balance"),
              <Money millionths={left} />,
              <Filled message="reserved_small" by={{ amount: <Money millionths={balance.reserved} /> }} />,
            ],
            [
              t("usage_lasts"),
              lasts === undefined
                ? "–"
                : lasts === Infinity
                  ? t("usage_lasts_long")
                  : t("usage_lasts_days", { days: lasts.toLocaleString(language) }),
              lasts === undefined ? undefined : t("usage_pace", { days: rateDays }),
            ],
          ]}
        />
      </section>
      <section>
        <ByDay spent={spent} uses={uses} since={since} days={days} />
      </section>
      <section>
        <Budgets c={c} limits={limits} />
      </section>
      <section>
        <Grouped group={group} rows={grouped} query={period.query} />
      </section>
      {!isMember && (
        <section>
          <SectionHead title={t("usage_charges")} id="charges" />
          <Ledger entries={shown} />
          <Pager first={after && `${pathWith(period, group)}#charges`} next={last && `${pathWith(period, group, last)}#charges`} />
        </section>
      )}
    </>,
    own?.isRefused ? 400 : 200,
    {
      actions: (
        <>
          <Periods period={period} more={withGroup(group)} />
          {shown.length > 0 && <Downloads period={period} />}
        </>
      ),
    },
  );
}

/** The period's entries as files. */
const Downloads = ({ period: { query, days } }: { period: Period }) => {
  const { t } = useAround();
  return (
    <>
      <Link class="btn" href={`/console/usage/charges.csv?${query}`} aria-label={t("usage_csv", { days })} icon="down" text="CSV" />
      <Link class="btn" href={`/console/usage/focus.csv?${query}`} aria-label={t("usage_focus", { days })} icon="down" text="FOCUS" />
    </>
  );
};

/** The place that all entries before `until` (milliseconds) come after. */
const endOf = (until: number): Place => ({ at: until, taskId: "" });

const columns: Columns<Entry> = {
  submitted: ({ at }) => new Date(at).toISOString(),
  ended: ({ closedAt }) => (closedAt === null ? "" : new Date(closedAt).toISOString()),
  task: ({ taskId }) => taskId,
  kind: ({ kind }) => kind,
  model: ({ model }) => model,
  key: ({ keyName }) => keyName ?? "",
  reserved: ({ held }) => decimal(held),
  charged: ({ charged }) => (charged === null ? "" : decimal(charged)),
  returned: ({ held, charged }) => (charged === null ? "" : decimal(held - charged)),
  outcome: ({ outcome }) => outcome ?? "",
};

/** Downloads every entry of the period. */
async function download(c: ConsoleContext) {
  if (c.var.membership.role === "member") return notYourRole(c);
  const { since, until } = readPeriod(c);
  const read = await readEntries(c, c.var.account.id);
  return sendCsv<Entry>(c, `charges-${toDate(since)}-${toDate(until - 1)}`, columns, ({ limit, after }) =>
    read({ since, limit, after: after ?? endOf(until) }),
  );
}

export const usage = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", usagePage)
  .get("/charges.csv", download)
  .get("/focus.csv", (c) => downloadFocus(c, readPeriod(c)));
