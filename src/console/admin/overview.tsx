/** The operator's start page: money, load, providers, what needs attention and the largest accounts, of the whole deployment. The upper part refreshes itself. */

import type { ConsoleContext } from "../context.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { accountById } from "../../db/accounts.ts";
import { readHeartbeat } from "../../db/jobs.ts";
import type { OpenTask } from "../../db/ledger-reports.ts";
import { remaining } from "../../db/ledger.ts";
import { type Margin, readMargins } from "../../db/margins.ts";
import { type Hour, type ProviderHealth, readHours, readInFlight, readProviderHealth, readRouteHealth } from "../../db/operator-series.ts";
import { changeText, percentText } from "../amounts.ts";
import { openTasks, readBalance } from "../ledger.ts";
import { HealthState, healthColumns } from "./health.tsx";
import {
  Button,
  cutId,
  DataTable,
  dateText,
  DateTime,
  Facts,
  Legend,
  lengthText,
  Link,
  Money,
  NavLinks,
  Note,
  Pill,
  SectionHead,
  Stats,
  useAround,
} from "../parts/index.ts";
import { live } from "../tasks/live.ts";
import { Attention, failingRoutes, type Matter, useMatters, verbText } from "./attention.tsx";
import { accountName, adminPage } from "./frame.tsx";
import { Share } from "./margins.tsx";
import { AlertSection, ReconcileForm, shownAlerts } from "./operations.tsx";
import { Beat, fillSteps, InFlightChart, MoneyChart, SeriesTable, type Steps, TaskChart } from "./series-charts.tsx";
import { isLate } from "./task-state.ts";
import { readUpstreams } from "./upstreams.ts";
import { dayMs, hourMs } from "../../base/times.ts";

const path = "/console/admin";
/** Open tasks that are read: the account page of each has the others. */
const most = 200;
const accountsShown = 5;

/** The ranges, each with its steps; the last step is the present one. */
const ranges = {
  "1h": { stepMs: hourMs / 12, count: 12 },
  "24h": { stepMs: hourMs, count: 24 },
  "7d": { stepMs: 6 * hourMs, count: 28 },
  "30d": { stepMs: dayMs, count: 30 },
} as const;
type Range = keyof typeof ranges;

const parseRange = (text: string | undefined): Range => (text !== undefined && Object.hasOwn(ranges, text) ? (text as Range) : "24h");
const pathOf = (range: Range, place = path) => (range === "24h" ? place : `${place}?range=${range}`);

function stepsOf(range: Range, now: number): Steps {
  const { stepMs, count } = ranges[range];
  return { since: Math.floor(now / stepMs) * stepMs - (count - 1) * stepMs, stepMs, count };
}

/** What the refreshing part shows. */
async function readNow(c: ConsoleContext, range: Range) {
  const now = Date.now();
  const steps = stepsOf(range, now);
  const { DB } = c.env;
  const spanMs = steps.stepMs * steps.count;
  const [hours, before, inFlight, providers, routes, open, upstreams, alerts, heartbeat, catalog] = await Promise.all([
    readHours(DB, steps.since, now + 1, steps.stepMs),
    readHours(DB, steps.since - spanMs, now + 1 - spanMs, steps.stepMs),
    readInFlight(DB, steps.since, steps.stepMs),
    readProviderHealth(DB, { since: steps.since, recent: now - hourMs, now, stepMs: steps.stepMs }),
    readRouteHealth(DB, now - hourMs, now),
    openTasks(c, { since: now - dayMs, limit: most }),
    readUpstreams(c),
    shownAlerts(c),
    readHeartbeat(DB, now),
    liveCatalog(DB),
  ]);
  // The checks count every five minutes: the present step is at least what is open now.
  const last = steps.since + spanMs - steps.stepMs;
  inFlight.set(last, Math.max(inFlight.get(last) ?? 0, open.length));
  const models = catalog.all;
  return {
    now,
    range,
    steps,
    hours: fillSteps(hours, steps),
    before,
    inFlight,
    providers,
    routes,
    open,
    upstreams,
    alerts,
    heartbeat,
    models,
  };
}
type Now = Awaited<ReturnType<typeof readNow>>;

const Ranges = ({ range }: { range: Range }) => {
  const { t, language } = useAround();
  const each = (Object.keys(ranges) as Range[]).map((one) => ({
    path: pathOf(one),
    text: lengthText(language, ranges[one].stepMs * ranges[one].count),
    isHere: one === range,
  }));
  return <NavLinks class="seg" label={t("usage_period")} of={each} />;
};

/** The first urgent matter in one sentence, with the link to the page where it is mended. */
const Warning = ({ matters }: { matters: Matter[] }) => {
  const { t } = useAround();
  const worst = matters.find(({ tone }) => tone === "bad");
  if (!worst) return null;
  return (
    <Note tone="warn" role="status">
      <b>{worst.title}</b> {worst.about}{" "}
      <a href={worst.path} aria-label={`${verbText(t, worst)}: ${worst.name}`}>
        {verbText(t, worst)}
      </a>
    </Note>
  );
};

/**
 * Adds up the hours. `margin` is the share of the revenue that remains after the cost, undefined without revenue; `completion` is the share of
 * ended tasks that completed, undefined without ended tasks.
 */
function sumUp(hours: Hour[]) {
  const sum = (of: Exclude<keyof Hour, "hour">) => hours.reduce((total, one) => total + one[of], 0);
  const sums = { revenue: sum("revenue"), cost: sum("cost"), completed: sum("completed"), failed: sum("failed"), caller: sum("caller") };
  const { revenue, cost, completed, failed } = sums;
  const share = (part: number, whole: number) => (whole === 0 ? undefined : part / whole);
  return { ...sums, margin: share(revenue - cost, revenue), completion: share(completed, completed + failed) };
}

const Figures = ({
  hours,
  before,
  providers,
  open,
  now,
  range,
}: Pick<Now, "hours" | "before" | "providers" | "open" | "now" | "range">) => {
  const { t, language } = useAround();
  const { revenue, cost, completed, failed, caller, margin, completion } = sumUp(hours);
  const past = sumUp(before);
  // What was nothing before has no share to compare with.
  const change = (is: number, was: number) =>
    was > 0 ? t(`admin_on_before_${range}`, { change: changeText(language, is / was - 1) }) : undefined;
  const points = (is: number | undefined, was: number | undefined) =>
    is !== undefined &&
    was !== undefined &&
    t("admin_points", { points: (100 * (is - was)).toLocaleString(language, { maximumFractionDigits: 1, signDisplay: "exceptZero" }) });
  const uncosted = providers.reduce((total, one) => total + one.uncosted, 0);
  const late = open.filter((row) => isLate(row, now)).length;
  return (
    <Stats
      of={[
        [t("admin_margin_revenue"), <Money millionths={revenue} />, change(revenue, past.revenue)],
        [
          t("admin_margin_cost"),
          <Money millionths={cost} />,
          uncosted > 0 ? t("admin_margin_uncosted", { count: uncosted.toLocaleString(language) }) : change(cost, past.cost),
        ],
        [
          t("admin_margin"),
          margin === undefined ? "–" : <span class={margin < 0 ? "loses" : undefined}>{percentText(language, margin)}</span>,
          <>
            <Money millionths={revenue - cost} /> {points(margin, past.margin)}
          </>,
        ],
        [
          t("admin_margin_ended"),
          (completed + failed + caller).toLocaleString(language),
          t("admin_in_flight_late", { count: openCount(t, open), late: late.toLocaleString(language) }),
        ],
        [
          t("admin_completion"),
          completion === undefined ? "–" : percentText(language, completion),
          <>
            {t("admin_failed_count", { count: failed.toLocaleString(language) })} {points(completion, past.completion)}
          </>,
        ],
      ]}
    />
  );
};

const openCount = (t: ConsoleContext["var"]["t"], open: OpenTask[]) =>
  open.length === most ? t("admin_at_least", { count: most }) : String(open.length);

/** Of a provider that the gateway put aside, that. */
const State = ({ provider, upstreams }: { provider: ProviderHealth; upstreams: Now["upstreams"] }) =>
  upstreams.providers.some(({ name, aside }) => name === provider.provider && aside) ? (
    <Pill icon="again" tone="warn" text={useAround().t("admin_route_short_last")} />
  ) : (
    <HealthState of={provider} />
  );

const Providers = ({ providers, upstreams, steps, range }: Pick<Now, "providers" | "upstreams" | "steps" | "range">) => {
  const around = useAround();
  const { t, language } = around;
  return (
    <section>
      <SectionHead title={t("admin_providers")}>
        <Link class="push t13" href={`${path}/providers`} text={t("admin_all_providers")} />
      </SectionHead>
      <DataTable
        label={t("admin_providers")}
        none={t("admin_no_attempts")}
        rows={providers}
        columns={[
          { name: t("admin_provider"), cell: ({ provider }) => provider },
          {
            name: lengthText(language, steps.stepMs * steps.count),
            isExtra: true,
            cell: (provider) => <Beat provider={provider} steps={steps} />,
          },
          { name: t("state"), cell: (provider) => <State provider={provider} upstreams={upstreams} /> },
          ...healthColumns(around),
        ]}
      />
      {range !== "24h" && providers.length > 0 && <p class="meta pt">{t("admin_durations_day")}</p>}
    </section>
  );
};

/** The part that refreshes itself. */
const Present = (read: Now) => {
  const { t } = useAround();
  const { hours, inFlight, steps, providers, open, upstreams, heartbeat, range } = read;
  const matters = useMatters(read);
  const [oldest] = open;
  return (
    <div {...live(pathOf(range, `${path}/now`), "operator", "every 30s")}>
      <Warning matters={matters} />
      <section class={matters.some(({ tone }) => tone === "bad") ? "pt" : undefined}>
        <Figures {...read} />
      </section>
      <section class="two-one">
        <div class="card">
          <header>
            <h2>{t("admin_money_chart")}</h2>
            <Legend
              class="legend push"
              of={[
                ["d1", t("admin_margin_revenue")],
                ["d6", t("admin_margin_cost")],
              ]}
            />
          </header>
          <MoneyChart hours={hours} steps={steps}>
            <h3 class="pt">{t("admin_tasks_chart")}</h3>
            <TaskChart hours={hours} steps={steps} />
          </MoneyChart>
          <SeriesTable hours={hours} inFlight={inFlight} steps={steps} />
        </div>
        <div class="card">
          <header>
            <h2>{t("admin_in_flight")}</h2>
            <b class="num push">{openCount(t, open)}</b>
          </header>
          <InFlightChart counts={inFlight} steps={steps} />
          <div class="pt">
            <Facts
              of={[
                [t("admin_oldest"), oldest ? <DateTime ms={oldest.at} /> : "–"],
                [t("admin_held_by_them"), <Money millionths={open.reduce((sum, { held }) => sum + held, 0)} />],
                [t("admin_checked"), heartbeat.at === null ? "–" : <DateTime ms={heartbeat.at} />],
              ]}
            />
          </div>
        </div>
      </section>
      <Providers providers={providers} upstreams={upstreams} steps={steps} range={range} />
    </div>
  );
};

interface Customer {
  margin: Margin;
  name: string;
  /** null is no limit; undefined of an erased account. */
  left: number | null | undefined;
}

/** The accounts with the highest revenue, from the range's first day on. */
async function readLargest(c: ConsoleContext, { since }: Steps): Promise<{ first: number; customers: Customer[] }> {
  const first = Math.floor(since / dayMs) * dayMs;
  const margins = await readMargins(c.env.DB, { first, last: Math.floor(Date.now() / dayMs) * dayMs }, "account", { limit: accountsShown });
  const customers = await Promise.all(
    margins.map(async (margin): Promise<Customer> => {
      const id = String(margin.name);
      const account = await accountById(c.env.DB, id);
      return account
        ? { margin, name: accountName(account), left: remaining(await readBalance(c, id)) }
        : { margin, name: cutId(id), left: undefined };
    }),
  );
  return { first, customers };
}

const Largest = ({ first, customers }: { first: number; customers: Customer[] }) => {
  const { t, language } = useAround();
  // A balance that a day at this pace uses up.
  const lastsADay = ({ margin: { revenue }, left }: Customer) =>
    typeof left !== "number" || left >= (revenue * dayMs) / Math.max(dayMs, Date.now() - first);
  return (
    <section>
      <SectionHead title={t("admin_largest")}>
        <span class="meta">{t("admin_since_day", { day: dateText(language, first) })}</span>
        <Link class="push t13" href={`${path}/margins?by=account`} text={t("admin_all_accounts")} />
      </SectionHead>
      <DataTable
        label={t("admin_largest")}
        none={t("admin_margin_none")}
        rows={customers}
        columns={[
          {
            name: t("account"),
            class: "cut",
            cell: ({ margin, name }) => (
              <a href={`${path}/accounts/${margin.name}`} title={name}>
                {name}
              </a>
            ),
          },
          {
            name: t("admin_margin_ended"),
            isNumber: true,
            isExtra: true,
            cell: ({ margin: { completed, failed } }) => (completed + failed).toLocaleString(language),
          },
          { name: t("admin_margin_revenue"), isNumber: true, cell: ({ margin }) => <Money millionths={margin.revenue} /> },
          { name: t("admin_margin"), isNumber: true, cell: ({ margin }) => <Share {...margin} /> },
          {
            name: t("balance"),
            isNumber: true,
            isExtra: true,
            cell: (customer) => (
              <span class={lastsADay(customer) ? undefined : "loses"}>
                {customer.left === undefined ? "–" : <Money millionths={customer.left} />}
              </span>
            ),
          },
        ]}
      />
    </section>
  );
};

/** `GET /console/admin?range=` */
export async function operatorPage(c: ConsoleContext) {
  const { t } = c.var;
  const range = parseRange(c.req.query("range"));
  const [read, largest] = await Promise.all([readNow(c, range), readLargest(c, stepsOf(range, Date.now()))]);
  const isFailing = failingRoutes(read.routes).length > 0;
  return adminPage(
    c,
    t("admin"),
    <>
      <Present {...read} />
      <div class="duo gap">
        <Attention found={read} />
        <Largest {...largest} />
      </div>
      <AlertSection c={c} alerts={read.alerts} heartbeat={read.heartbeat} isFailing={isFailing} />
      <section class="card stack">
        <h2>{t("admin_audit")}</h2>
        <p id="audit-hint" class="muted">
          {t("admin_audit_hint")}
        </p>
        <form action="/console/admin/audit">
          <Button class="btn" aria-describedby="audit-hint" text={t("admin_check_audit")} />
        </form>
      </section>
      <section id="reconcile" class="card stack">
        <h2>{t("admin_reconcile")}</h2>
        <p id="reconcile-hint" class="muted">
          {t("admin_reconcile_hint")}
        </p>
        <ReconcileForm c={c} />
      </section>
    </>,
    200,
    { actions: <Ranges range={range} />, lead: t("admin_whole") },
  );
}

/** `GET /console/admin/now?range=`: only the parts that refresh themselves. */
export async function operatorNow(c: ConsoleContext) {
  const read = await readNow(c, parseRange(c.req.query("range")));
  return adminPage(
    c,
    c.var.t("admin"),
    <>
      <Present {...read} />
      <Attention found={read} isSwapped />
    </>,
  );
}
