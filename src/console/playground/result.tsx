/** The right pane of a run: waiting, completed or failed; several results side by side if models are compared. */

import { taskImages, type TaskData, taskVideo } from "../answers.ts";
import { Button, DateTime, Link, Money, StatusPill, useAround } from "../parts/index.ts";
import { isGone, isOpen } from "../tasks/answers.ts";
import { Shots } from "./shots.tsx";
import { fromUnits } from "../../db/ledger.ts";

const runsPath = (tasks: TaskData[]) => `/console/playground/runs/${tasks.map(({ id }) => id).join(",")}`;

/** The attributes of an element that refreshes itself until its tasks have ended. */
const refreshing = (tasks: TaskData[]) => ({
  "hx-get": runsPath(tasks),
  "hx-trigger": "every 2s",
  "hx-swap": "outerMorph",
  "hx-status:4xx": "swap:none",
  "hx-status:5xx": "swap:none",
});

/** The duration and cost of an ended task. */
const Facts = ({ task }: { task: TaskData }) => {
  const { t } = useAround();
  const { charged = 0 } = task.cost;
  return charged === 0 ? null : (
    <span class="meta num">
      {task.completed_at !== undefined && `${t("length_seconds", { seconds: Math.max(1, task.completed_at - task.created_at) })} · `}
      <Money millionths={fromUnits(charged)} />
    </span>
  );
};

/** Cancels all open runs in the pane. */
const Cancel = ({ tasks }: { tasks: TaskData[] }) => {
  const { t } = useAround();
  return (
    <form method="post" action={`${runsPath(tasks)}/cancel`} hx-post={`${runsPath(tasks)}/cancel`} hx-target="#result" hx-swap="outerHTML">
      <Button class="btn ghost sm" icon="stop" text={t("cancel")} />
    </form>
  );
};

/** Beside the tabs: the state, the duration, and the cancel button. */
export const State = ({ tasks, isSwapped }: { tasks: TaskData[]; isSwapped?: boolean }) => {
  const { t } = useAround();
  const open = tasks.filter(isOpen);
  const [only] = tasks;
  const charged = tasks.reduce((sum, { cost }) => sum + fromUnits(cost.charged ?? 0), 0);
  return (
    <div class="row end" id="state" role="status" {...(isSwapped && { "hx-swap-oob": "true" })}>
      {tasks.length === 1 && only && (
        <>
          <StatusPill task={only} />
          {!isOpen(only) && <Facts task={only} />}
        </>
      )}
      {tasks.length > 1 && (
        <span class="meta num">
          {t("compared_done", { done: tasks.length - open.length, count: tasks.length })}
          {charged > 0 && (
            <>
              {" · "}
              <Money millionths={charged} />
            </>
          )}
        </span>
      )}
      {open.length > 0 && <Cancel tasks={open} />}
    </div>
  );
};

const Foot = ({ task }: { task: TaskData }) => {
  const { t } = useAround();
  const video = taskVideo(task);
  return (
    <div class="row">
      <Link class="btn" href={`/console/tasks/${task.id}`} text={t("open_task")} />
      {taskImages(task).length > 1 && !isGone(task) && (
        <Link class="btn ghost" href={`/console/tasks/${task.id}/download`} download icon="down" text={t("download_all")} />
      )}
      {video && !isGone(task) && (
        <Link class="btn ghost" href={video.url[0]} download={`${task.id}.mp4`} icon="down" text={t("download")} />
      )}
      {task.expires_at !== undefined && !isGone(task) && (
        <span class="meta push">
          {t("files_expire_at")} <DateTime ms={1000 * task.expires_at} />
        </span>
      )}
    </div>
  );
};

/** The runs in the right pane. */
export const Runs = ({ tasks }: { tasks: TaskData[] }) => {
  const [only] = tasks;
  const isOne = only !== undefined && tasks.length === 1;
  const shots = isOne && !isOpen(only) ? taskImages(only).length || 1 : Number(only?.metadata["n"] ?? 1);
  return (
    <div class="body" id="result" {...(tasks.some(isOpen) && refreshing(tasks))}>
      <input type="hidden" name="run" value={tasks.map(({ id }) => id).join(",")} form="form" autocomplete="off" />
      {isOne ? (
        <div class="stack">
          <div class={shots > 1 ? "shots" : "shots single"}>
            <Shots task={only} />
          </div>
          {!isOpen(only) && <Foot task={only} />}
        </div>
      ) : (
        <ul class="versus">
          {tasks.map((task) => (
            <li class="stack tight">
              <div class="row">
                <h2>{task.model}</h2>
                <StatusPill task={task} />
                {!isOpen(task) && <Facts task={task} />}
              </div>
              <div class="shots">
                <Shots task={task} />
              </div>
              {!isOpen(task) && <Foot task={task} />}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
};
