/** How a provider or a route did, in the tables of the start page and of the providers. */

import type { RouteHealth } from "../../db/operator-series.ts";
import { percentText } from "../amounts.ts";
import { type Around, Money, Pill, useAround } from "../parts/index.ts";

type Health = Pick<RouteHealth, "state" | "calls" | "failures" | "p50" | "p95" | "spend">;

/** A word for the state; a pill only where something is wrong. */
export const HealthState = ({ of: { state } }: { of: Pick<Health, "state"> }) => {
  const { t } = useAround();
  if (state === "ok") return <>{t("admin_health_ok")}</>;
  return <Pill icon="bad" tone={state === "down" ? "bad" : "warn"} text={t(`admin_health_${state}`)} />;
};

/** The columns after the state: attempts, failures, durations and what the makers bill. */
export const healthColumns = ({ t, language }: Around) => {
  const seconds = (value: number | null) => (value === null ? "–" : t("length_seconds", { seconds: value.toLocaleString(language) }));
  return [
    { name: t("task_attempts"), isNumber: true, cell: ({ calls }: Health) => calls.toLocaleString(language) },
    {
      name: t("failed_status"),
      isNumber: true,
      cell: ({ failures, calls }: Health) => percentText(language, calls === 0 ? 0 : failures / calls),
    },
    { name: "p50", isNumber: true, isExtra: true, cell: ({ p50 }: Health) => seconds(p50) },
    { name: "p95", isNumber: true, isExtra: true, cell: ({ p95 }: Health) => seconds(p95) },
    { name: t("admin_health_spend"), isNumber: true, isExtra: true, cell: ({ spend }: Health) => <Money millionths={spend} /> },
  ];
};
