/** The ended lines of a batch: a table with thumbnails in pages, the same rows on the batch's page, and its latest results as a strip. */

import type { ConsoleContext } from "../context.ts";
import type { LineDelivery, LineQuery } from "../../tasks/batch-line.ts";
import { readBatch, type TaskData } from "../answers.ts";
import { nothingHere, page } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { withQuery } from "../list-address.ts";
import { Back, DataTable, DeliveryPill, Empty, Icon, Money, NavLinks, Pager, StatusPill, useAround } from "../parts/index.ts";
import { type Preview, readPreviews } from "../tasks/previews.ts";
import { batchName, batchPath, reasonText } from "./state.tsx";
import { fromUnits } from "../../db/ledger.ts";

const linesOnPage = 50;
const statuses = ["completed", "failed"] as const;

/** A line of the results. `n` counts from 0. */
export interface Line {
  n: number;
  custom_id: string | null;
  status: "completed" | "failed";
  task?: string;
  response?: TaskData;
  error?: { code: string; message: string; param?: string | null };
  cost: { charged: number };
  /** The delivery of its files; undefined if they are delivered nowhere. */
  delivery: LineDelivery | undefined;
}

/** Ended lines; undefined if the account has no such batch. */
export async function readLines(c: ConsoleContext, id: string, query: LineQuery): Promise<{ lines: Line[]; hasMore: boolean } | undefined> {
  const found = await c.env.API.batchLines(c.var.account.id, id, query, c.var.caller.ownWallets);
  if (!found) return undefined;
  return {
    hasMore: found.hasMore,
    lines: found.lines.map(({ n, result, delivery }) => ({
      ...(JSON.parse(result) as Omit<Line, "n" | "delivery">),
      n,
      delivery: delivery ?? undefined,
    })),
  };
}

/** The thumbnails of the lines' results, by task. */
export const linePreviews = (c: ConsoleContext, lines: Line[]) =>
  readPreviews(
    c,
    lines.flatMap(({ status, task, response }) => (status === "completed" && task !== undefined && response ? [response] : [])),
  );

interface RowsProps {
  lines: Line[];
  previews: ReadonlyMap<string, Preview>;
  label: string;
}

export const LineRows = ({ lines, previews, label }: RowsProps) => {
  const { t, language } = useAround();
  return (
    <DataTable
      label={label}
      rows={lines}
      columns={[
        { name: t("batch_line"), isNumber: true, cell: ({ n }) => (n + 1).toLocaleString(language) },
        {
          name: t("batch_own_id"),
          cell: ({ n, custom_id: id, task }) => {
            const image = previews.get(task ?? "")?.image;
            const name = <code class="cut">{id ?? "–"}</code>;
            return (
              <span class="thing">
                {image !== undefined && <img class="mini" src={image} alt="" loading="lazy" />}
                {task === undefined ? (
                  name
                ) : (
                  <a class="plain" href={`/console/tasks/${task}`} title={t("batch_open", { id: id ?? String(n + 1) })}>
                    {name}
                  </a>
                )}
              </span>
            );
          },
        },
        {
          name: t("batch_outcome"),
          class: "wrap",
          cell: ({ error, status, delivery }) =>
            error ? (
              <>
                {error.message}
                <span class="meta path">
                  {error.code}
                  {error.param ? ` · ${error.param}` : ""}
                </span>
              </>
            ) : (
              <span class="row">
                <StatusPill task={{ status }} />
                {delivery && <DeliveryPill delivery={{ status: delivery === "delivery_failed" ? "failed" : delivery }} />}
              </span>
            ),
        },
        {
          name: t("usage_charged"),
          isNumber: true,
          isExtra: true,
          cell: ({ cost }) => <Money millionths={fromUnits(cost.charged)} />,
        },
      ]}
    />
  );
};

/** The latest results as small images, each with a link to its task; a chat has none, and leads to the lines at `path`. */
export const Reel = ({ lines, previews, path }: Omit<RowsProps, "label"> & { path: string }) => {
  const { t } = useAround();
  return (
    <ul class="reels">
      {lines.map(({ n, task, custom_id: id }) => {
        const preview = task === undefined ? undefined : previews.get(task);
        const name = t("batch_result_of", { id: id ?? String(n + 1) });
        return (
          <li>
            <a href={task === undefined ? path : `/console/tasks/${task}`} title={id ?? undefined} aria-label={name}>
              {preview?.image === undefined ? (
                <Icon name={task === undefined ? "chat" : preview ? "film" : "clock"} />
              ) : (
                <img src={preview.image} alt="" loading="lazy" />
              )}
            </a>
          </li>
        );
      })}
    </ul>
  );
};

/** `GET /console/batches/{id}/lines?status=&code=&after=` */
export async function linesPage(c: ConsoleContext, id: string) {
  const { t } = c.var;
  const status = statuses.find((one) => one === c.req.query("status"));
  const code = c.req.query("code");
  const after = /^\d{1,6}$/.test(c.req.query("after") ?? "") ? Number(c.req.query("after")) : undefined;
  const answer = await askGateway(c, batchPath(id));
  if (!answer.ok) return nothingHere(c);
  const batch = await readBatch(answer);
  const found = batch.status === "validating" ? undefined : await readLines(c, batch.id, { status, code, after, limit: linesOnPage });
  const lines = found?.lines ?? [];
  const path = `/console/batches/${batch.id}`;
  const pathWith = (asked: Record<string, string | undefined>) => withQuery(`${path}/lines`, asked);
  const link = (one: (typeof statuses)[number] | undefined, text: string) => ({
    path: pathWith({ status: one }),
    text,
    isHere: one === status && code === undefined,
  });
  return page(
    c,
    batchName(batch),
    <>
      <div class="sub">
        <NavLinks
          class="chips"
          label={t("status")}
          of={[
            link(undefined, t("any_kind")),
            link("completed", t("completed")),
            link("failed", t("failed_status")),
            code !== undefined && { path: pathWith({ status, code }), text: reasonText(t, code), isHere: true },
          ]}
        />
      </div>
      {lines.length === 0 ? (
        <Empty icon="list" title={t("batch_no_lines")} text={t("batch_no_lines_hint")} />
      ) : (
        <div class="gap0">
          <LineRows lines={lines} previews={await linePreviews(c, lines)} label={t("batch_lines")} />
        </div>
      )}
      <Pager
        first={after === undefined ? undefined : pathWith({ status, code })}
        firstText={t("batch_first_page")}
        next={found?.hasMore ? pathWith({ status, code, after: String(lines.at(-1)!.n) }) : undefined}
        nextText={t("admin_next")}
      />
    </>,
    200,
    { lead: <Back to={path} text={t("batch")} more={t("batch_lines_lead")} /> },
  );
}
