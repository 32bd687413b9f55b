/** The latest callbacks of the account's tasks: the state of each, and sending it again. */

import type { ConsoleContext } from "../context.ts";
import type { Callback } from "../../tasks/record.ts";
import { inLanes } from "../../base/concurrency.ts";
import { taskPrompt, type TaskData } from "../answers.ts";
import { AttemptResult, Button, CallbackState, DataTable, DateTime, useAround } from "../parts/index.ts";
import { listTasks, taskTitle } from "../tasks/answers.ts";

/** The number of newest tasks that are read, because a callback is part of its task's record. */
export const tasksRead = 50;

export interface Delivery {
  task: TaskData;
  callback: Callback;
}

/** The callbacks among the newest tasks, newest first. */
export async function latestDeliveries(c: ConsoleContext): Promise<Delivery[]> {
  const tasks = await listTasks(c, `limit=${tasksRead}`);
  const records = await inLanes(tasks, ({ id }) => c.env.API.record(c.var.account.id, id));
  return tasks.flatMap((task, at) => {
    const callback = records[at]?.callback;
    return callback && callback.state !== "no_endpoint" ? [{ task, callback }] : [];
  });
}

export const isFailed = ({ callback: { state, failures } }: Delivery) => state === "failed" || state === "gone" || failures > 0;

/** Figures of these deliveries; the median is of the answers' milliseconds. */
export function summarize(deliveries: Delivery[]): { delivered: number; failed: number; medianMs: number | undefined } {
  const times = deliveries.flatMap(({ callback }) => callback.attempts.flatMap(({ ms, status }) => (status === undefined ? [] : [ms])));
  return {
    delivered: deliveries.filter(({ callback }) => callback.state === "delivered").length,
    failed: deliveries.filter(isFailed).length,
    medianMs: times.sort((a, b) => a - b)[Math.floor(times.length / 2)],
  };
}

/** The answer to the last attempt, or why no other follows. */
const Outcome = ({ callback: { state, step, attempts } }: { callback: Callback }) => {
  const last = attempts.at(-1);
  if (state === "delivered" && last) return <AttemptResult attempt={last} />;
  return <CallbackState state={state} nextAt={step?.do === "wait" ? step.at : undefined} />;
};

export const Deliveries = ({ deliveries }: { deliveries: Delivery[] }) => {
  const { t } = useAround();
  return (
    <DataTable
      label={t("deliveries")}
      none={t("deliveries_none")}
      rows={deliveries}
      columns={[
        {
          name: t("task"),
          class: "cut",
          cell: ({ task }) => (
            <a class="plain" href={`/console/tasks/${task.id}#callback`} title={taskPrompt(task)}>
              {taskTitle(task, t)}
            </a>
          ),
        },
        { name: t("delivery_event"), isExtra: true, cell: ({ task }) => <code class="id">task.{task.status}</code> },
        { name: t("callback_result"), cell: ({ callback }) => <Outcome callback={callback} /> },
        { name: t("task_attempts"), isNumber: true, isExtra: true, cell: ({ callback }) => callback.attempts.length },
        {
          name: t("figure_answer"),
          isNumber: true,
          isExtra: true,
          cell: ({ callback }) => {
            const last = callback.attempts.at(-1);
            return last ? `${last.status ?? t(`fault_${last.fault ?? "interrupted"}`)} · ${last.ms} ms` : "–";
          },
        },
        {
          name: t("callback_when"),
          isNumber: true,
          isExtra: true,
          cell: ({ callback }) => {
            const last = callback.attempts.at(-1);
            return last ? <DateTime ms={last.at} /> : "–";
          },
        },
        {
          name: "",
          isNumber: true,
          cell: ({ task }) => (
            <form method="post" action={`/console/webhooks/resend/${task.id}`} class="row end">
              <Button class="btn ghost sm" aria-label={t("resend_task", { title: taskTitle(task, t) })} text={t("resend")} />
            </form>
          ),
        },
      ]}
    />
  );
};
