/** `/console/batches/{id}`: one batch while it runs and after: lines and money as meters, failed lines by their reason, and results. */

import type { ConsoleContext } from "../context.ts";
import type { FailureGroup } from "../../tasks/batch-line.ts";
import { formatAmount, percentText } from "../amounts.ts";
import { type Batch, readBatch, type Refusal } from "../answers.ts";
import { nothingHere, page } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import {
  Button,
  ClockTime,
  CopiedId,
  cutId,
  DataTable,
  Facts,
  Icon,
  Legend,
  Link,
  Money,
  NavLinks,
  Problem,
  SectionHead,
  useAround,
} from "../parts/index.ts";
import { live } from "../tasks/live.ts";
import { type Line, linePreviews, LineRows, readLines, Reel } from "./lines.tsx";
import { BatchPill, batchName, batchPath, durationText, hasEnded, LinesMeter, MoneyMeter, reasonText } from "./state.tsx";
import { fromUnits } from "../../db/ledger.ts";

const shownFailures = 8;
const shownResults = 8;

const Work = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const { completed, failed, running, queued, total } = batch.counts;
  const ended = completed + failed;
  // Once it has ended, the share stands beside the lines that are done.
  const share = total === 0 ? 0 : (hasEnded(batch) ? completed : ended) / total;
  const elapsed = Date.now() / 1000 - batch.created_at;
  const perMinute = elapsed > 0 ? Math.round((60 * ended) / elapsed) : 0;
  const time = batch.estimated_time;
  return (
    <>
      <div class="sub">
        <b class="big num">{percentText(language, Math.floor(100 * share) / 100)}</b>
        <span class="muted">
          {batch.status === "validating"
            ? t("batch_checks")
            : hasEnded(batch) || time === undefined
              ? t("batch_of", { done: completed.toLocaleString(language), total: total.toLocaleString(language) })
              : t(perMinute > 0 ? "batch_left_at" : "batch_left", {
                  time: durationText(language, time),
                  rate: perMinute.toLocaleString(language),
                })}
        </span>
        <Legend
          class="legend push"
          of={(
            [
              ["d2", completed, "batch_done_word"],
              ["d1", running, "batch_run_word"],
              ["bad", failed, "batch_failed_word"],
              ["none", queued, "batch_wait_word"],
            ] as const
          ).map(([colour, count, word]) => [
            colour,
            <>
              <b>{count.toLocaleString(language)}</b> {t(word)}
            </>,
          ])}
        />
      </div>
      <LinesMeter batch={batch} />
    </>
  );
};

const Spending = ({ batch }: { batch: Batch }) => {
  const { t } = useAround();
  const { charged, reserved, limit, expected } = batch.cost;
  return (
    <>
      <div class="sub gap">
        <b class="big num">
          <Money millionths={fromUnits(charged)} />
        </b>
        <span class="muted">
          {limit === null ? (
            t("batch_charged_no_limit")
          ) : (
            <>
              {t("batch_charged_of")} <Money millionths={fromUnits(limit)} />
            </>
          )}
        </span>
        <Legend
          class="legend push"
          of={[
            [
              "held",
              <>
                <b>
                  <Money millionths={fromUnits(reserved)} />
                </b>{" "}
                {t("batch_held_word")}
              </>,
            ],
            ...(expected === undefined
              ? []
              : [
                  [
                    undefined,
                    <>
                      {t("batch_all_cost")}{" "}
                      <b>
                        <Money millionths={fromUnits(expected)} />
                      </b>
                    </>,
                  ] as const,
                ]),
          ]}
        />
      </div>
      <MoneyMeter batch={batch} />
      {(limit ?? expected) !== undefined && <p class="meta pt">{t(limit === null ? "batch_no_limit_hint" : "batch_mark_hint")}</p>}
    </>
  );
};

interface FailedProps {
  c: ConsoleContext;
  batch: Batch;
  groups: FailureGroup[];
  code: string | undefined;
  lines: Line[];
}

const Failed = ({ c, batch, groups, code, lines }: FailedProps) => {
  const { t, language } = c.var;
  const path = `/console/batches/${batch.id}`;
  const chosen = code === undefined ? groups : groups.filter((group) => group.code === code);
  const sum = (key: "lines" | "repeatable" | "unchecked" | "price") => chosen.reduce((total, group) => total + group[key], 0);
  const query = code === undefined ? "" : `?code=${encodeURIComponent(code)}`;
  if (groups.length === 0) return null;
  return (
    <section>
      <SectionHead title={t("batch_failed_lines")}>
        <span class="tag">{sum("lines").toLocaleString(language)}</span>
        <span class="push row">
          {hasEnded(batch) && sum("repeatable") > 0 && (
            <form method="post" action={`${path}/repeat`}>
              <input type="hidden" name="code" value={code ?? ""} />
              <input type="hidden" name="price" value={sum("unchecked") > 0 ? "" : String(sum("price"))} />
              <input type="hidden" name="key" value={crypto.randomUUID()} />
              <button class="btn sm">
                <Icon name="again" />
                {t(sum("unchecked") > 0 ? "batch_repeat_unpriced" : "batch_repeat", {
                  count: sum("repeatable").toLocaleString(language),
                  price: formatAmount(c, sum("price")),
                })}
              </button>
            </form>
          )}
          {sum("repeatable") > 0 && (
            <Link class="btn ghost sm" href={`${path}/failed.jsonl${query}`} download icon="down" text={t("batch_lines_file")} />
          )}
        </span>
      </SectionHead>
      <NavLinks
        class="chips sl"
        label={t("admin_reason")}
        of={[
          { path, text: t("any_kind"), count: groups.reduce((total, group) => total + group.lines, 0), isHere: code === undefined },
          ...groups.map((group) => ({
            path: `${path}?code=${encodeURIComponent(group.code)}`,
            text: reasonText(t, group.code),
            count: group.lines,
            isHere: group.code === code,
          })),
        ]}
      />
      <div class="gap0">
        <LineRows lines={lines} previews={new Map()} label={t("batch_failed_lines")} />
      </div>
      <p class="meta pt">
        {t("batch_failed_free")}{" "}
        {hasEnded(batch) && sum("unchecked") > 0 && t("batch_unchecked", { count: sum("unchecked").toLocaleString(language) })}{" "}
        {sum("lines") > lines.length && (
          <a href={`${path}/lines${query === "" ? "?status=failed" : `${query}&status=failed`}`}>
            {t("batch_all_lines", { count: sum("lines").toLocaleString(language) })}
          </a>
        )}
      </p>
    </section>
  );
};

/** Why no line could be read. */
const Unread = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const { errors = [] } = batch;
  if (errors.length === 0) return null;
  return (
    <section>
      <SectionHead title={t("batch_unread")} />
      <DataTable
        label={t("batch_unread")}
        rows={errors}
        columns={[
          { name: t("batch_line"), isNumber: true, cell: ({ line }) => line.toLocaleString(language) },
          {
            name: t("admin_reason"),
            class: "wrap",
            cell: ({ message, code }) => (
              <>
                {message}
                <span class="meta path">{code}</span>
              </>
            ),
          },
        ]}
      />
    </section>
  );
};

/** How many lines' files are on their way, have arrived, and have not, and the button that delivers the others again. */
const Deliveries = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const { id, deliveries } = batch;
  if (!deliveries) return null;
  const { pending, delivered, failed } = deliveries;
  return (
    <section id="delivery">
      <SectionHead title={t("delivery")}>
        {pending + failed > 0 && (
          <form method="post" action={`/console/batches/${id}/delivery`} class="push">
            <Button class="btn sm" icon="again" text={t(failed > 0 ? "delivery_again" : "delivery_now")} />
          </form>
        )}
      </SectionHead>
      <Facts
        of={[
          [t("callback_delivered"), delivered.toLocaleString(language)],
          [t("delivery_pending"), pending.toLocaleString(language)],
          [t("delivery_failed"), failed.toLocaleString(language)],
        ]}
      />
    </section>
  );
};

const Details = ({ batch }: { batch: Batch }) => {
  const { t, language } = useAround();
  const {
    id,
    counts,
    concurrency,
    created_at: createdAt,
    ended_at: endedAt,
    input_file: input,
    results_file: results,
    deliver_to: delivery,
  } = batch;
  const file = (fileId: string) => (
    <a href={`/console/files/${fileId}/content`}>
      <code class="id">{cutId(fileId)}</code>
    </a>
  );
  return (
    <aside>
      <section>
        <h2>{t("task_details")}</h2>
        <Facts
          of={[
            input !== undefined && [t("batch_input"), file(input)],
            [t("batch_lines"), counts.total === 0 ? "–" : counts.total.toLocaleString(language)],
            [t("batch_at_once"), String(concurrency)],
            delivery !== undefined && [t("deliver_to"), delivery.destination],
            [t("started_at"), <ClockTime ms={1000 * createdAt} />],
            endedAt !== undefined && [t("figure_ended"), <ClockTime ms={1000 * endedAt} />],
            results !== undefined && [t("batch_results_file"), file(results)],
            [
              t("batch"),
              <span class="row end">
                <CopiedId id={id} of="batch-id" name={t("batch")} />
              </span>,
            ],
          ]}
        />
      </section>
      <Deliveries batch={batch} />
      <section>
        <h2>{t("batch_at_end")}</h2>
        <p class="meta pt">{t("batch_at_end_text")}</p>
      </section>
    </aside>
  );
};

/** `GET /console/batches/{id}?code=`, and the answer to a refused form of that page. */
export async function batchPage(c: ConsoleContext, id: string, refusal?: Refusal) {
  const { t, language, account } = c.var;
  const answer = await askGateway(c, batchPath(id));
  if (!answer.ok) return nothingHere(c);
  const batch = await readBatch(answer);
  const code = c.req.method === "GET" ? c.req.query("code") : undefined;
  const path = `/console/batches/${batch.id}`;
  const isStarted = batch.status !== "validating" && batch.status !== "failed";
  const [groups, failed, latest] = isStarted
    ? await Promise.all([
        c.env.API.batchFailures(account.id, batch.id, c.var.caller.ownWallets),
        readLines(c, batch.id, { status: "failed", code, limit: shownFailures }),
        readLines(c, batch.id, { status: "completed", limit: shownResults, isNewest: true }),
      ])
    : [[], undefined, undefined];
  const name = batchName(batch);
  const isDelivering = hasEnded(batch) && (batch.deliveries?.pending ?? 0) > 0;
  const hasResults = batch.counts.completed + batch.counts.failed > 0 && isStarted;
  return page(
    c,
    name,
    <div
      class="page"
      {...(hasEnded(batch) && !isDelivering
        ? { id: "batch" }
        : live(code === undefined ? path : `${path}?code=${encodeURIComponent(code)}`, "batch", isDelivering ? "every 5s" : "every 3s"))}
    >
      <div class="head titled">
        <Link class="btn ghost icon sm" href="/console/batches" aria-label={t("batch_back")} icon="left" />
        <h1 class="clip">{name}</h1>
        <span role="status">
          <BatchPill batch={batch} />
        </span>
        <span class="push row">
          {hasResults && (
            <a class="btn" href={`${path}/results.jsonl`} download>
              <Icon name="down" />
              <span>{t(hasEnded(batch) ? "batch_results" : "batch_results_so_far")}</span>
            </a>
          )}
          {batch.counts.completed > 0 && isStarted && (
            <a class="btn" href={`${path}/files.zip`} download>
              <Icon name="down" />
              <span>{t("batch_zip")}</span>
            </a>
          )}
          {!hasEnded(batch) && <Link class="btn danger" href={`${path}/cancel`} icon="stop" text={t("cancel")} />}
        </span>
      </div>
      <Problem text={refusal?.text} />
      {batch.status !== "failed" && (
        <div class="card">
          <Work batch={batch} />
          <Spending batch={batch} />
        </div>
      )}
      <div class="req gap">
        <div>
          <Unread batch={batch} />
          <Failed c={c} batch={batch} groups={groups ?? []} code={code} lines={failed?.lines ?? []} />
          {latest && latest.lines.length > 0 && (
            <section>
              <SectionHead title={t("batch_latest")}>
                <Link
                  class="push t13"
                  href={`${path}/lines`}
                  text={t("batch_all_lines", { count: (batch.counts.completed + batch.counts.failed).toLocaleString(language) })}
                />
              </SectionHead>
              <Reel lines={latest.lines} previews={await linePreviews(c, latest.lines)} path={`${path}/lines`} />
            </section>
          )}
          {!hasEnded(batch) && (
            <noscript>
              <p>
                <a href={path}>{t("reload_progress")}</a>
              </p>
            </noscript>
          )}
        </div>
        <Details batch={batch} />
      </div>
    </div>,
    refusal?.status ?? 200,
    { width: "bare", bar: t("batch") },
  );
}
