/** `/console/batches`: the account's batches, newest first, with what is done, what failed, and what was charged. */

import type { ConsoleContext } from "../context.ts";
import { type Batch, readBatches, readRefusal } from "../answers.ts";
import { page } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { withQuery } from "../list-address.ts";
import { cutId, DataTable, DateTime, Empty, Link, Money, Pager, Problem, useAround } from "../parts/index.ts";
import { live } from "../tasks/live.ts";
import { BatchPill, batchName, durationText, hasEnded, LinesMeter } from "./state.tsx";
import { BatchTabs } from "./tabs.tsx";
import { fromUnits } from "../../db/ledger.ts";

const path = "/console/batches";

const Ends = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  if (batch.ended_at !== undefined) return <DateTime ms={1000 * batch.ended_at} />;
  return batch.estimated_time === undefined ? <>–</> : <>{t("batch_ends_in", { time: durationText(language, batch.estimated_time) })}</>;
};

const Progress = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const { completed, total } = batch.counts;
  const [first] = batch.errors ?? [];
  const text = first
    ? t("batch_line_says", { line: first.line, text: first.message })
    : batch.status === "validating"
      ? t("batch_checks")
      : t("batch_of", { done: completed.toLocaleString(language), total: total.toLocaleString(language) });
  return (
    <span class="barcell">
      <LinesMeter batch={batch} isThin />
      <span class="meta num clip" title={text}>
        {text}
      </span>
    </span>
  );
};

const Batches = ({ data }: { data: Batch[] }) => {
  const { t, language } = useAround();
  return (
    <DataTable
      label={t("batches")}
      class="named"
      rows={data}
      columns={[
        {
          name: t("batch"),
          class: "cut",
          cell: (batch) => (
            <a class="plain thing" href={`${path}/${batch.id}`}>
              <span>
                <b class="clip">{batchName(batch)}</b>
                {batch.reference !== undefined && <code class="id hide-s">{cutId(batch.id)}</code>}
              </span>
            </a>
          ),
        },
        { name: t("state"), cell: (batch) => <BatchPill batch={batch} /> },
        { name: t("batch_progress"), isExtra: true, cell: (batch) => <Progress batch={batch} /> },
        {
          name: t("failed_status"),
          isNumber: true,
          isExtra: true,
          cell: ({ counts: { failed, total } }) =>
            failed > 0 ? <span class="delta down">{failed.toLocaleString(language)}</span> : total === 0 ? "–" : 0,
        },
        {
          name: t("cost"),
          isNumber: true,
          cell: ({ cost: { charged, limit } }) => (
            <>
              <Money millionths={fromUnits(charged)} />
              {limit !== null && (
                <span class="hide-s muted">
                  {" / "}
                  <Money millionths={fromUnits(limit)} />
                </span>
              )}
            </>
          ),
        },
        { name: t("batch_ends"), isNumber: true, isExtra: true, cell: (batch) => <Ends batch={batch} /> },
      ]}
    />
  );
};

const None = () => {
  const { t } = useAround();
  return (
    <Empty icon="layers" title={t("batches_none")} text={t("batches_none_hint")}>
      <Link class="btn primary" href={`${path}/new`} icon="plus" text={t("batch_new")} />
      <Link class="btn" href="/docs/batches" icon="book" text={t("docs")} />
    </Empty>
  );
};

/** `GET /console/batches?after=` */
export async function listBatches(c: ConsoleContext) {
  const { t } = c.var;
  const after = c.req.query("after");
  const answer = await askGateway(c, withQuery("/v1/batches", { after }));
  if (!answer.ok) {
    const { text, status } = await readRefusal(answer);
    return page(c, t("batches"), <Problem text={text} />, status);
  }
  const { data, has_more: hasMore } = await readBatches(answer);
  const isOpen = data.some((batch) => !hasEnded(batch));
  return page(
    c,
    t("batches"),
    <>
      <BatchTabs at="batches" />
      <div {...(isOpen ? live(withQuery(path, { after }), "batches", "every 5s") : { id: "batches" })}>
        {data.length === 0 && after === undefined ? <None /> : <Batches data={data} />}
      </div>
      {data.length > 0 && (
        <Pager
          note={t("batches_kept")}
          first={after === undefined ? undefined : path}
          next={hasMore ? withQuery(path, { after: data.at(-1)?.id }) : undefined}
        />
      )}
    </>,
    200,
    {
      lead: t("batches_lead"),
      actions: data.length > 0 && <Link class="btn primary" href={`${path}/new`} icon="plus" text={t("batch_new")} />,
    },
  );
}
