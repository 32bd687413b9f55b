/** The newest tasks as small images: each shows its result beside the form. */

import { taskPrompt, type TaskData, taskVideo } from "../answers.ts";
import { Icon, shownStatus, statusWord, useAround } from "../parts/index.ts";
import type { Preview } from "../tasks/previews.ts";
import type { History } from "./view.ts";

const icons = { queued: "clock", in_progress: "spin", failed: "bad", cancelled: "ban" } as const;

const Thumb = ({ task, preview }: { task: TaskData; preview: Preview | undefined }) => {
  const status = shownStatus(task);
  if (status !== "completed") return <Icon name={icons[status]} />;
  if (preview?.image !== undefined) return <img src={preview.image} alt="" loading="lazy" />;
  return preview ? (
    <span data-capture={`/console/tasks/${task.id}/thumbnail`} data-film={preview.video}>
      <Icon name="film" />
    </span>
  ) : (
    <Icon name={taskVideo(task) ? "film" : "clock"} />
  );
};

/** `shown` are the ids of the tasks in the right pane. */
export const Strip = ({ history, shown, isSwapped }: { history: History; shown: TaskData[]; isSwapped?: boolean }) => {
  const { tasks, previews } = history;
  const { t } = useAround();
  const isShown = (id: string) => shown.some((one) => one.id === id);
  return (
    <nav class="strip" id="strip" aria-label={t("history")} hidden={tasks.length === 0} {...(isSwapped && { "hx-swap-oob": "true" })}>
      {tasks.map((task) => {
        const name = `${taskPrompt(task) ?? t(`kind_${task.metadata.kind}`)} · ${statusWord(t, shownStatus(task))}`;
        return (
          <a
            href={`/console/playground?run=${task.id}`}
            title={name}
            aria-label={name}
            aria-current={isShown(task.id) ? "true" : undefined}
            data-s={shownStatus(task)}
            hx-get={`/console/playground/runs/${task.id}?history`}
            hx-target="#result"
            hx-swap="outerHTML"
          >
            <Thumb task={task} preview={previews.get(task.id)} />
          </a>
        );
      })}
    </nav>
  );
};
