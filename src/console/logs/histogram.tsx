/** Requests over time, as bars that choose their time: succeeded, refused, failed. The same as a table. */

import { type RequestCounts, type Result, results } from "../../db/requests.ts";
import { DataTable, dateText, Legend, Stack, stepWidth, useAround } from "../parts/index.ts";
import { dayMs } from "../../base/times.ts";

const height = 72;
const looks: Record<Result, string> = { succeeded: "ok", refused: "no", failed: "bad" };

interface HistogramProps {
  parts: RequestCounts["parts"];
  since: number;
  until: number;
  /** True if the last part is the present one. */
  isNow: boolean;
  /** The page of a part of the time. */
  to: (from: number, to: number) => string;
}

const total = (part: Record<Result, number>) => results.reduce((sum, result) => sum + part[result], 0);

export const Histogram = ({ parts, since, until, isNow, to }: HistogramProps) => {
  const { t, language } = useAround();
  const top = Math.max(...parts.map(total), 1);
  const partMs = (until - since) / parts.length;
  const begin = (at: number) => Math.round(since + at * partMs);
  // Within a day clock times are enough; parts of a minute and less show their seconds.
  const name = (ms: number) => {
    const clock = new Date(ms).toISOString().slice(11, partMs < 60_000 ? 19 : 16);
    return until - since <= dayMs ? clock : `${dateText(language, ms)} ${clock}`;
  };
  const count = (value: number) => value.toLocaleString(language);
  const described = (part: Record<Result, number>) =>
    results.flatMap((result) => (part[result] > 0 ? [`${count(part[result])} ${t(`logs_count_${result}`)}`] : [])).join(", ");
  return (
    <div class="card">
      <Legend
        of={results.map((result) => [
          looks[result],
          <>
            <b>{count(parts.reduce((sum, part) => sum + part[result], 0))}</b> {t(`logs_count_${result}`)}
          </>,
        ])}
      />
      <div class="plot hist pt">
        <svg viewBox={`0 0 ${parts.length * stepWidth} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          {parts.map(
            (part, at) =>
              total(part) > 0 && (
                <a href={to(begin(at), begin(at + 1))} tabindex={-1}>
                  <title>{`${name(begin(at))}: ${described(part)}`}</title>
                  <Stack at={at} top={top} height={height} bars={results.map((result) => ({ look: looks[result], value: part[result] }))} />
                </a>
              ),
          )}
        </svg>
        <div class="axis" aria-hidden="true">
          {[0, 0.25, 0.5, 0.75].map((share) => (
            <span>{name(begin(Math.round(share * parts.length)))}</span>
          ))}
          <span>{isNow ? t("now") : name(until)}</span>
        </div>
      </div>
      <details class="more">
        <summary>{t("logs_by_time")}</summary>
        <DataTable
          label={t("logs_by_time")}
          rows={parts.map((part, at) => ({ part, at })).filter(({ part }) => total(part) > 0)}
          columns={[
            {
              name: t("admin_from_utc"),
              cell: ({ at }) => (
                <a href={to(begin(at), begin(at + 1))}>
                  <time datetime={new Date(begin(at)).toISOString()}>{name(begin(at))}</time>
                </a>
              ),
            },
            ...results.map((result) => ({
              name: t(`logs_${result}`),
              isNumber: true,
              cell: ({ part }: { part: Record<Result, number> }) => count(part[result]),
            })),
          ]}
        />
      </details>
    </div>
  );
};
