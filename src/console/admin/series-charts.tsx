/** Charts of the operator's start page: revenue and cost, ended tasks, and the health of a provider. */

import type { Child } from "hono/jsx";
import { percentText } from "../amounts.ts";
import type { Hour, ProviderHealth } from "../../db/operator-series.ts";
import { DataTable, dateText, Money, Plot, plotHeight, roundUp, Stack, stepWidth, useAround } from "../parts/index.ts";
import { dayMs } from "../../base/times.ts";

/** The steps of a chart: the first one's first millisecond, how long each is, and how many. */
export interface Steps {
  since: number;
  stepMs: number;
  count: number;
}

const low = 72;

/** Every step in its order, those without settlements too. */
export const fillSteps = (hours: Hour[], { since, stepMs, count }: Steps): Hour[] => {
  const known = new Map(hours.map((one) => [one.hour, one]));
  return Array.from({ length: count }, (_, at) => {
    const hour = since + at * stepMs;
    return known.get(hour) ?? { hour, revenue: 0, cost: 0, completed: 0, failed: 0, caller: 0 };
  });
};

/** A step's name: the clock time within a day, otherwise the date, with the hour where a day has several. UTC. */
const useStepName = ({ stepMs, count }: Steps) => {
  const { language } = useAround();
  return (ms: number) => {
    const clock = new Date(ms).toISOString().slice(11, 16);
    if (stepMs * count <= dayMs) return clock;
    return stepMs < dayMs ? `${dateText(language, ms)} ${clock}` : dateText(language, ms);
  };
};

const Axis = ({ steps, marks: parts }: { steps: Steps; marks: number }) => {
  const name = useStepName(steps);
  const { language } = useAround();
  const isLong = steps.stepMs * steps.count > dayMs;
  return (
    <div class="axis" aria-hidden="true">
      {Array.from({ length: parts }, (_, at) => steps.since + Math.round((at / parts) * (steps.count - 1)) * steps.stepMs).map((ms) => (
        <span>{isLong ? dateText(language, ms) : name(ms)}</span>
      ))}
      <span>{useAround().t("now")}</span>
    </div>
  );
};

/** Revenue and cost as lines; the space between them is the margin. `children` stand below in the same column: a chart there has the same times. */
export const MoneyChart = ({ hours, steps, children }: { hours: Hour[]; steps: Steps; children: Child }) => {
  const { t } = useAround();
  const top = roundUp(Math.max(...hours.map(({ revenue, cost }) => Math.max(revenue, cost))));
  const points = (of: "revenue" | "cost") =>
    hours.map((one, at) => `${(at + 0.5) * stepWidth} ${(plotHeight - (Math.max(one[of], 0) / top) * plotHeight).toFixed(1)}`);
  const [revenue, cost] = [points("revenue"), points("cost")];
  return (
    <Plot
      label={t("admin_money_chart")}
      top={top}
      width={hours.length * stepWidth}
      axis={
        <>
          <Axis steps={steps} marks={4} />
          {children}
        </>
      }
    >
      <path class="between" d={`M${revenue.join("L")}L${cost.toReversed().join("L")}Z`} />
      <path class="cost" d={`M${cost.join("L")}`} />
      <path class="revenue" d={`M${revenue.join("L")}`} />
    </Plot>
  );
};

/** The most tasks that were open in each step, as bars. */
export const InFlightChart = ({ counts, steps }: { counts: ReadonlyMap<number, number>; steps: Steps }) => {
  const { language, t } = useAround();
  const name = useStepName(steps);
  const top = Math.max(...counts.values(), 1);
  return (
    <div class="plot hist">
      <svg viewBox={`0 0 ${steps.count * stepWidth} ${low}`} preserveAspectRatio="none" role="img" aria-label={t("admin_open_tasks")}>
        {[...counts].map(([at, count]) => (
          <Stack
            at={(at - steps.since) / steps.stepMs}
            top={top}
            height={low}
            bars={[{ look: "ok", value: count, title: `${name(at)}: ${count.toLocaleString(language)}` }]}
          />
        ))}
      </svg>
      <Axis steps={steps} marks={1} />
    </div>
  );
};

/** Ended tasks and chats as stacked bars: completed, ended by their callers, failed. */
export const TaskChart = ({ hours, steps }: { hours: Hour[]; steps: Steps }) => {
  const { language, t } = useAround();
  const name = useStepName(steps);
  const top = Math.max(...hours.map(({ completed, failed, caller }) => completed + failed + caller), 1);
  return (
    <div class="plot hist">
      <svg viewBox={`0 0 ${hours.length * stepWidth} ${low}`} preserveAspectRatio="none" role="img" aria-label={t("admin_tasks_chart")}>
        {hours.map((one, at) => {
          const bar = (look: string, value: number, word: string) => ({
            look,
            value,
            title: `${name(one.hour)}, ${word}: ${value.toLocaleString(language)}`,
          });
          return (
            <Stack
              at={at}
              top={top}
              height={low}
              bars={[
                bar("ok", one.completed, t("completed")),
                bar("no", one.caller, t("admin_by_callers")),
                bar("bad", one.failed, t("failed_status")),
              ]}
            />
          );
        })}
      </svg>
      <Axis steps={steps} marks={1} />
    </div>
  );
};

/** The charts as a table. */
export const SeriesTable = ({ hours, inFlight, steps }: { hours: Hour[]; inFlight: ReadonlyMap<number, number>; steps: Steps }) => {
  const { language, t } = useAround();
  const name = useStepName(steps);
  return (
    <details class="more">
      <summary>{t("admin_as_table")}</summary>
      <DataTable
        label={t("admin_money_chart")}
        rows={hours}
        columns={[
          { name: t("admin_from_utc"), cell: ({ hour }) => <time datetime={new Date(hour).toISOString()}>{name(hour)}</time> },
          { name: t("admin_margin_revenue"), isNumber: true, cell: ({ revenue }) => <Money millionths={revenue} /> },
          { name: t("admin_margin_cost"), isNumber: true, cell: ({ cost }) => <Money millionths={cost} /> },
          { name: t("completed"), isNumber: true, cell: ({ completed }) => completed.toLocaleString(language) },
          { name: t("admin_by_callers"), isNumber: true, cell: ({ caller }) => caller.toLocaleString(language) },
          { name: t("failed_status"), isNumber: true, cell: ({ failed }) => failed.toLocaleString(language) },
          { name: t("admin_open_tasks"), isNumber: true, cell: ({ hour }) => inFlight.get(hour)?.toLocaleString(language) ?? "–" },
        ]}
      />
    </details>
  );
};

/** A bar is amber from this share of failures, and red from the second. */
const shares = { some: 0.1, many: 0.5 };

/** The health of a provider over time, one bar a step. */
export const Beat = ({ provider, steps }: { provider: ProviderHealth; steps: Steps }) => {
  const { language, t } = useAround();
  const known = new Map(provider.steps.map((one) => [one.at, one]));
  const all = Array.from({ length: steps.count }, (_, at) => known.get(steps.since + at * steps.stepMs));
  const bad = all.filter((one) => one && one.failures / one.calls >= shares.many).length;
  const label = t("admin_beat", { provider: provider.provider, share: percentText(language, provider.failures / provider.calls), bad });
  return (
    <svg class="beat" viewBox={`0 0 ${steps.count * 4} 16`} preserveAspectRatio="none" role="img" aria-label={label}>
      {all.map((one, at) => {
        if (!one || one.calls === 0) return <rect class="off" x={at * 4} y="12" width="3" height="4" />;
        const share = one.failures / one.calls;
        return <rect class={share >= shares.many ? "bad" : share >= shares.some ? "no" : "ok"} x={at * 4} y="0" width="3" height="16" />;
      })}
    </svg>
  );
};
