/** A request beside the list: its figures, where its time went, what it made, what was sent, or its error with what to do. */

import type { ConsoleContext } from "../context.ts";
import type { RequestEntry } from "../../db/request-pages.ts";
import { countAttempts } from "../../tasks/answers/receipt.ts";
import { readTask } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { ClockTime, CopiedId, CopyError, ErrorNote, Facts, Link, Pill, spanText, Stats, taskPath } from "../parts/index.ts";
import { readRecord } from "../tasks/answers.ts";
import { readPreviews } from "../tasks/previews.ts";
import { sentCode } from "../tasks/sent.tsx";
import { Waterfall } from "../tasks/waterfall.tsx";
import { beside } from "./beside.ts";
import { type Charge, isOfTask } from "./costs.ts";
import { Cost, errorText, look } from "./requests.tsx";

interface DrawerProps {
  entry: RequestEntry;
  keyName: string;
  charge: Charge | undefined;
  /** The addresses of the list, and of the list with the next newer and older request. */
  list: string;
  newer: string | undefined;
  older: string | undefined;
}

/** The task of the request: its record, and the thumbnail of its result. */
async function readMade(c: ConsoleContext, entry: RequestEntry) {
  if (!isOfTask(entry) || entry.task === undefined) return undefined;
  const answer = await askGateway(c, taskPath(entry.task));
  if (!answer.ok) return undefined;
  const task = await readTask(answer);
  const record = await readRecord(c, task.id);
  return record ? { task, record, image: (await readPreviews(c, [task])).get(task.id)?.image } : undefined;
}

/** The drawer, with what the request made. */
export async function drawer(c: ConsoleContext, { entry, keyName, charge, list, newer, older }: DrawerProps) {
  const { t, language, account } = c.var;
  const made = await readMade(c, entry);
  const [method = "", place = ""] = entry.path.split(" ");
  const failed = made?.task.error;
  const message = errorText(language, entry.outcome, entry.message);
  const page = made ? `/console/tasks/${made.task.id}` : `/console/logs/${entry.request}`;
  const step = (path: string | undefined, icon: "left" | "right", name: string, key: string) =>
    path !== undefined && <Link class="btn icon ghost sm" href={path} aria-label={name} {...beside(path, key)} icon={icon} />;
  return (
    <aside class="drawer" id="drawer" aria-label={`${method} ${place}`}>
      <header>
        <span class="tag">{method}</span>
        <code class="clip">{place}</code>
        <Pill {...look(entry.status)} text={String(entry.status)} />
        <span class="push row">
          {step(newer, "left", t("logs_newer"), "ArrowLeft")}
          {step(older, "right", t("logs_older"), "ArrowRight")}
          <Link class="btn ghost sm" href={page} icon="out" text={t("open")} />
          <Link class="btn icon ghost sm" href={list} aria-label={t("close")} {...beside(list, "Escape")} icon="x" />
        </span>
      </header>
      {failed && <ErrorNote code={failed.code} message={failed.message} />}
      {entry.outcome !== "ok" && (
        <>
          <ErrorNote code={entry.outcome} status={entry.status} message={message} />
          <p class="gap0">
            <CopyError code={entry.outcome} status={entry.status} message={message} request={entry.request} />
          </p>
        </>
      )}
      <section>
        <Stats
          isSmall
          of={[
            [t("figure_answer"), spanText(language, entry.ms)],
            ...(made ? [[t("task_attempts"), countAttempts(made.record)] as const] : []),
            [t("usage_charged"), charge ? <Cost charge={charge} /> : "–"],
          ]}
        />
      </section>
      {made && <Waterfall record={made.record} isAdmin={account.admin === 1} />}
      <section class={made?.image === undefined ? undefined : "made"}>
        {made?.image !== undefined && <img src={made.image} alt="" />}
        <Facts
          of={[
            [t("logs_time"), <ClockTime ms={entry.at} />],
            entry.model !== undefined && [t("model"), entry.model],
            [t("usage_key"), keyName],
            [t("logs_request"), <CopiedId id={entry.request} of="request-id" name={t("logs_request")} />],
          ]}
        />
      </section>
      {made && (
        <section>
          <h2>{t("task_request")}</h2>
          {await sentCode(c, made.record.submission)}
        </section>
      )}
    </aside>
  );
}
