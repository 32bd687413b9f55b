/** `/console/batches`: the account's batches, newest first, with what is done, what failed, and what was charged. */

import type { ConsoleContext } from "../context.ts";
import { type Batch, readBatches } from "../answers.ts";
import { askGateway, page } from "../frame.tsx";
import { useAround } from "../parts/context.ts";
import { DateTime } from "../parts/date-time.tsx";
import { Icon } from "../parts/icon.tsx";
import { cutId } from "../parts/ids.ts";
import { Money } from "../parts/money.tsx";
import { Problem } from "../parts/note.tsx";
import { Table } from "../parts/table.tsx";
import { readRefusal } from "../tasks/answers.ts";
import { live } from "../tasks/live.ts";
import { BatchPill, batchName, countText, durationText, hasEnded, LinesMeter, toMillionths } from "./state.tsx";
import { Tabs } from "./tabs.tsx";

const path = "/console/batches";

const Ends = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  if (batch.ended_at !== undefined) return <DateTime ms={1000 * batch.ended_at} />;
  return batch.estimated_time === undefined ? <>–</> : <>{t("batch_ends_in", { time: durationText(language, batch.estimated_time) })}</>;
};

const Row = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const { counts, cost, errors } = batch;
  const { completed, failed, total } = counts;
  const [first] = errors ?? [];
  const progress = first
    ? t("batch_line_says", { line: first.line, text: first.message })
    : batch.status === "validating"
      ? t("batch_checks")
      : t("batch_of", { done: countText(language, completed), total: countText(language, total) });
  return (
    <tr>
      <th scope="row">
        <a class="plain thing" href={`${path}/${batch.id}`}>
          <span>
            <b class="clip">{batchName(batch)}</b>
            <span class="meta">{batch.reference === undefined ? "" : cutId(batch.id)}</span>
          </span>
        </a>
      </th>
      <td>
        <BatchPill batch={batch} />
      </td>
      <td class="hide-s">
        <span class="barcell">
          <LinesMeter batch={batch} isThin />
          <span class="meta num clip" title={progress}>
            {progress}
          </span>
        </span>
      </td>
      <td class="num hide-s">{failed > 0 ? <span class="delta down">{countText(language, failed)}</span> : total === 0 ? "–" : 0}</td>
      <td class="num">
        <Money millionths={toMillionths(cost.charged)} />
        {cost.limit !== null && (
          <span class="hide-s muted">
            {" / "}
            <Money millionths={toMillionths(cost.limit)} />
          </span>
        )}
      </td>
      <td class="num hide-s">
        <Ends batch={batch} />
      </td>
    </tr>
  );
};

const None = () => {
  const { t } = useAround();
  return (
    <div class="empty">
      <Icon name="layers" />
      <h2>{t("batches_none")}</h2>
      <p>{t("batches_none_hint")}</p>
      <div class="row">
        <a class="btn primary" href={`${path}/new`}>
          <Icon name="plus" />
          {t("batch_new")}
        </a>
        <a class="btn" href="/docs/batches">
          <Icon name="book" />
          {t("docs")}
        </a>
      </div>
    </div>
  );
};

/** `GET /console/batches?after=` */
export async function listBatches(c: ConsoleContext) {
  const { t } = c.var;
  const after = c.req.query("after");
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  const answer = await askGateway(c, `/v1/batches${query}`);
  if (!answer.ok) {
    const { text, status } = await readRefusal(answer);
    return page(c, t("batches"), <Problem text={text} />, status);
  }
  const { data, has_more: hasMore } = await readBatches(answer);
  const isOpen = data.some((batch) => !hasEnded(batch));
  const columns = [
    t("batch"),
    t("batch_state"),
    { name: t("batch_progress"), isExtra: true },
    { name: t("failed_status"), isNumber: true, isExtra: true },
    { name: t("batch_cost"), isNumber: true },
    { name: t("batch_ends"), isNumber: true, isExtra: true },
  ];
  return page(
    c,
    t("batches"),
    <>
      <Tabs at="batches" />
      <div {...(isOpen ? live(path + query, "batches", "every 5s") : { id: "batches" })}>
        {data.length === 0 && after === undefined ? (
          <None />
        ) : (
          <Table label={t("batches")} columns={columns} class="named">
            {data.map((batch) => (
              <Row batch={batch} />
            ))}
          </Table>
        )}
      </div>
      {data.length > 0 && (
        <div class="pager">
          <span class="meta">{t("batches_kept")}</span>
          <span class="row">
            {after !== undefined && (
              <a class="btn sm" href={path}>
                {t("newest")}
              </a>
            )}
            {hasMore && (
              <a class="btn sm" href={`${path}?after=${data.at(-1)?.id}`} rel="next">
                {t("older")}
              </a>
            )}
          </span>
        </div>
      )}
    </>,
    200,
    {
      lead: t("batches_lead"),
      actions: data.length > 0 && (
        <a class="btn primary" href={`${path}/new`}>
          <Icon name="plus" />
          {t("batch_new")}
        </a>
      ),
    },
  );
}
