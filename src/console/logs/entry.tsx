/** `/console/logs/{request}`: a request that made no task, with its error and what to do. One that made a task leads to the task's page. */

import type { ConsoleContext } from "../context.ts";
import { listKeys } from "../../db/api-keys.ts";
import { readRequests } from "../../db/requests.ts";
import { nothingHere, page } from "../frame.tsx";
import { ClockTime, CopyError, ErrorNote, Facts, Link, Pill, spanText, Stats } from "../parts/index.ts";
import { hasTask, isOfTask, readCosts } from "./costs.ts";
import { Cost, errorText, look } from "./requests.tsx";

export async function entryPage(c: ConsoleContext) {
  const { t, account, language } = c.var;
  const request = c.req.param("request") ?? "";
  const { entries } = await readRequests(
    c.env.DB,
    account.id,
    { text: request, keys: c.var.caller.ownWallets },
    { limit: 200, now: Date.now() },
  );
  const entry = entries.find((one) => one.request === request);
  if (!entry) return nothingHere(c);
  if (isOfTask(entry)) return c.redirect(`/console/tasks/${entry.task}`, 302);
  const charge = entry.task === undefined ? undefined : (await readCosts(c, [entry])).get(entry.task);
  const keys = entry.key === undefined ? [] : await listKeys(c.env.DB, account.id);
  const keyName = keys.find(({ walletId }) => walletId === entry.key)?.name ?? t("logs_key_gone");
  const message = errorText(language, entry.outcome, entry.message);
  const [method = "", place = ""] = entry.path.split(" ");
  return page(
    c,
    `${method} ${place}`,
    <div class="page">
      <div class="head titled">
        <Link class="btn ghost icon sm" href="/console/logs" aria-label={t("logs_back")} icon="left" />
        <h1 class="clip">
          {method} {place}
        </h1>
        <Pill {...look(entry.status)} text={String(entry.status)} />
        {entry.outcome !== "ok" && (
          <div class="row push">
            <CopyError code={entry.outcome} status={entry.status} message={message} request={entry.request} />
          </div>
        )}
      </div>
      {entry.outcome !== "ok" && <ErrorNote code={entry.outcome} status={entry.status} message={message} />}
      <Stats
        isSmall
        of={[
          [t("figure_answer"), entry.status, t("figure_after", { time: spanText(language, entry.ms) })],
          [t("model"), entry.model ?? "–"],
          [t("usage_key"), keyName],
          [t("usage_charged"), charge ? <Cost charge={charge} /> : "–"],
        ]}
      />
      <section class="card">
        <Facts
          of={[
            [t("logs_time"), <ClockTime ms={entry.at} />],
            hasTask(entry) && [
              t("task"),
              <a href={`/console/tasks/${entry.task}`}>
                <code class="id">{entry.task}</code>
              </a>,
            ],
            [t("logs_request"), <code class="id">{entry.request}</code>],
          ]}
        />
      </section>
      <p class="meta pt">{t("logs_no_content")}</p>
    </div>,
    200,
    { width: "bare", bar: t("logs") },
  );
}
