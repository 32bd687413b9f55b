/** The lists of the overview: running tasks, latest outputs, used models, failures. */

import { percentText } from "../amounts.ts";
import type { ModelUse } from "../../db/ledger-reports.ts";
import { DataTable, DateTime, Icon, kindIcons, Link, Money, SectionHead, StatusPill, useAround } from "../parts/index.ts";
import { taskPrompt, type TaskData } from "../answers.ts";
import type { Preview } from "../tasks/previews.ts";
import { TileFace } from "../tasks/tile.tsx";
import { live } from "../tasks/live.ts";

const taskPath = ({ id }: TaskData) => `/console/tasks/${id}`;

/** The title of a task in one line: its prompt, else its kind. */
const useTitle = (task: TaskData): string => {
  const { t } = useAround();
  return taskPrompt(task) || `${t(`kind_${task.metadata.kind}`)} · ${task.model}`;
};

const TaskLink = ({ task }: { task: TaskData }) => {
  const title = useTitle(task);
  return (
    <a class="plain" href={taskPath(task)} title={title}>
      {title}
    </a>
  );
};

const RunningTask = ({ task }: { task: TaskData }) => {
  const title = useTitle(task);
  return (
    <li class="line">
      <span class="thumb">
        <Icon name={kindIcons[task.metadata.kind]} />
      </span>
      <div class="stack tight">
        <a class="plain clip" href={taskPath(task)}>
          {title}
        </a>
        <progress max={100} value={task.progress} aria-label={title} />
      </div>
      <span class="meta num">{percentText(useAround().language, task.progress / 100)}</span>
    </li>
  );
};

/** Queued and running tasks; refreshes itself until there are none. */
export const Running = ({ tasks }: { tasks: TaskData[] }) => {
  const { t } = useAround();
  return (
    <section class="card" {...(tasks.length > 0 ? live("/console/running", "running", "every 3s") : { id: "running" })}>
      <header>
        <h2>{t("running_now")}</h2>
        {tasks.length > 0 && <span class="tag num">{tasks.length}</span>}
        <Link class="push t13" href="/console/tasks" text={t("all_tasks")} />
      </header>
      {tasks.length === 0 ? (
        <p class="muted">{t("nothing_runs")}</p>
      ) : (
        <ul class="stack">
          {tasks.slice(0, 4).map((task) => (
            <RunningTask task={task} />
          ))}
        </ul>
      )}
    </section>
  );
};

/** The latest outputs, while their files exist. */
export const Recent = ({ tasks, previews }: { tasks: TaskData[]; previews: Map<string, Preview> }) => {
  const { t } = useAround();
  const shown = tasks.filter(({ id }) => previews.has(id));
  return (
    <section>
      <SectionHead title={t("recent")}>
        <Link class="push t13" href="/console/tasks" text={t("open_gallery")} />
      </SectionHead>
      {shown.length === 0 ? (
        <p class="muted">{t("nothing_recent")}</p>
      ) : (
        <ul class="tiles r8">
          {shown.map((task) => (
            <li>
              <a href={taskPath(task)}>
                <TileFace task={task} preview={previews.get(task.id)} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
};

export const ModelsUsed = ({ uses }: { uses: ModelUse[] }) => {
  const { t, language } = useAround();
  return (
    <div>
      <SectionHead title={t("models_this_month")} />
      <DataTable
        label={t("models_this_month")}
        none={t("nothing_this_month")}
        rows={uses}
        columns={[
          { name: t("model"), cell: ({ model }) => model },
          { name: t("usage_runs"), isNumber: true, cell: ({ runs }) => runs.toLocaleString(language) },
          {
            name: t("completed"),
            isNumber: true,
            isExtra: true,
            cell: ({ completed, runs }) => percentText(language, completed / runs),
          },
          { name: t("spent"), isNumber: true, cell: ({ charged }) => <Money millionths={charged} /> },
        ]}
      />
    </div>
  );
};

export const Failures = ({ tasks }: { tasks: TaskData[] }) => {
  const { t } = useAround();
  return (
    <div>
      <SectionHead title={t("latest_failures")} />
      <DataTable
        label={t("latest_failures")}
        none={t("no_failures")}
        rows={tasks}
        columns={[
          {
            name: t("task"),
            class: "cut",
            cell: (task) => (
              <>
                <TaskLink task={task} />
                {task.error && <span class="meta path clip">{task.error.message}</span>}
              </>
            ),
          },
          { name: t("status"), cell: (task) => <StatusPill task={task} /> },
          { name: t("created"), isNumber: true, isExtra: true, cell: (task) => <DateTime ms={1000 * task.created_at} /> },
        ]}
      />
    </div>
  );
};
