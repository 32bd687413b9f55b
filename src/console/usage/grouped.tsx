/** Charges by key or by reference, summed by the API; and the API's table for cost tools. */

import type { ConsoleContext } from "../context.ts";
import { listKeys } from "../../db/api-keys.ts";
import { fromUnits } from "../../db/ledger.ts";
import { readUsage } from "../answers.ts";
import { sendFile } from "../downloads.ts";
import { nothingHere } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { cutId, DataTable, Money, NavLinks, SectionHead, TwoLines, useAround } from "../parts/index.ts";
import type { Period } from "./period.tsx";
import { toDate } from "../../base/times.ts";

const groups = ["key", "reference"] as const;
export type Group = (typeof groups)[number];

export const parseGroup = (text: string | undefined): Group => groups.find((group) => group === text) ?? "key";

interface Row {
  /** The key's name or the reference; null is everything without one. */
  name: string | null;
  /** In millionths. */
  charged: number;
  completed: number;
  failed: number;
}

const maxRows = 50;

/** The period as the API's query. */
const toQuery = ({ since, until }: Period) => `from=${toDate(since)}&to=${toDate(until - 1)}`;

/** The account's usage in a period by this group, the highest charge first; undefined if the API refuses. */
export async function readGrouped(c: ConsoleContext, group: Group, period: Period): Promise<Row[] | undefined> {
  const [answer, keys] = await Promise.all([
    askGateway(c, `/v1/usage?${toQuery(period)}&group_by=${group}`),
    group === "key" ? listKeys(c.env.DB, c.var.account.id) : [],
  ]);
  if (!answer.ok) return undefined;
  const names = new Map(keys.map(({ walletId, name }) => [walletId, name]));
  const { data } = await readUsage(answer);
  return data
    .map((row) => ({
      name: "key" in row ? (names.get(row.key) ?? cutId(row.key)) : "reference" in row ? row.reference : null,
      charged: fromUnits(row.charged),
      completed: row.completed,
      failed: row.failed,
    }))
    .sort((a, b) => b.charged - a.charged);
}

/** `GET /console/usage/focus.csv`: the API's own table with the columns of FOCUS. */
export async function downloadFocus(c: ConsoleContext, period: Period): Promise<Response> {
  const answer = await askGateway(c, `/v1/usage?${toQuery(period)}&format=focus`);
  if (!answer.ok) return nothingHere(c);
  const name = `focus-${toDate(period.since)}-${toDate(period.until - 1)}.csv`;
  return sendFile(c, name, "text/csv; charset=utf-8", await answer.text());
}

export const Grouped = ({ group, rows, query }: { group: Group; rows: Row[] | undefined } & Pick<Period, "query">) => {
  const { t, language } = useAround();
  return (
    <>
      <SectionHead title={t(`usage_by_${group}`)} id="grouped">
        <NavLinks
          class="seg sm push"
          label={t("usage_group")}
          of={groups.map((one) => ({ path: `/console/usage?${query}&by=${one}#grouped`, text: t(`usage_${one}`), isHere: one === group }))}
        />
      </SectionHead>
      {rows === undefined && <p class="muted">{t("usage_too_many")}</p>}
      {rows && (
        <DataTable
          label={t(`usage_by_${group}`)}
          none={t("usage_nothing")}
          rows={rows.slice(0, maxRows)}
          columns={[
            { name: t(`usage_${group}`), class: "wrap", cell: ({ name }) => <TwoLines of={name ?? t("usage_no_reference")} /> },
            { name: t("completed"), isNumber: true, isExtra: true, cell: ({ completed }) => completed.toLocaleString(language) },
            { name: t("failed_status"), isNumber: true, isExtra: true, cell: ({ failed }) => failed.toLocaleString(language) },
            { name: t("usage_charged"), isNumber: true, cell: ({ charged }) => <Money millionths={charged} /> },
          ]}
        />
      )}
    </>
  );
};
