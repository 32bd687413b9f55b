/** What one model earned and cost in the last days: by route, and by day. */

import { startOfDays } from "../../../db/ledger-reports.ts";
import { readMargins } from "../../../db/margins.ts";
import type { ConsoleContext } from "../../context.ts";
import { nothingHere } from "../../frame.tsx";
import { Empty } from "../../parts/empty.tsx";
import { MarginChart } from "../margin-chart.tsx";
import { MarginStats, MarginTable } from "../margins.tsx";
import { readRevisions } from "./changes.ts";
import { builtIn } from "./draft.ts";
import { modelPage } from "./model-page.tsx";

const days = 30;

/** `GET /console/admin/models/{id}/margin` */
export async function showMargin(c: ConsoleContext) {
  const { t } = c.var;
  const id = c.req.param("id") ?? "";
  const now = Date.now();
  const range = { first: startOfDays(days, now), last: startOfDays(1, now) };
  const [revisions, byRoute, byDay] = await Promise.all([
    readRevisions(c, id),
    readMargins(c.env.DB, range, "route", { model: id }),
    readMargins(c.env.DB, range, "day", { model: id }),
  ]);
  if (revisions.length === 0 && !builtIn(id)) return nothingHere(c);
  return modelPage(
    c,
    { id, tab: "margin", revisions },
    byRoute.length === 0 ? (
      <Empty icon="bars" title={t("admin_margin_none")} text={t("admin_margin_none_hint")} />
    ) : (
      <div class="stack">
        <MarginStats rows={byRoute} />
        <MarginChart rows={byDay} since={range.first} days={days} />
        <MarginTable group="route" rows={byRoute} />
        <p class="meta">
          {t("admin_model_margin_period")} {t("admin_margin_hint")}
        </p>
      </div>
    ),
  );
}
