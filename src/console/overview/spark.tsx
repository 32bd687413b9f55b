/** Daily charges as a line without labels. */

import type { Spent } from "../../db/ledger-reports.ts";
import { useAround } from "../parts/context.ts";
import { dateText } from "../parts/date-time.tsx";
import { dayMs } from "../../base/times.ts";

const height = 40;
const width = 100;

/** A line over `days` days from `since` (milliseconds, start of a day). Its numbers are on the usage page. */
export const Spark = ({ spent, since, days }: { spent: Spent[]; since: number; days: number }) => {
  const { language, t } = useAround();
  const amounts = Array.from({ length: days }, (_, at) =>
    spent.reduce((sum, { day, charged }) => sum + (day === since + at * dayMs ? charged : 0), 0),
  );
  const top = Math.max(...amounts, 1);
  const points = amounts.map(
    (amount, at) => `${((at * width) / (days - 1)).toFixed(2)} ${(height - 2 - ((height - 4) * amount) / top).toFixed(2)}`,
  );
  return (
    <div class="pt">
      <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        <path class="a" d={`M0 ${height}L${points.join("L")}L${width} ${height}Z`} />
        <path d={`M${points.join("L")}`} />
      </svg>
      <div class="row meta num between">
        <span>{dateText(language, since)}</span>
        <span>{t("today")}</span>
      </div>
    </div>
  );
};
