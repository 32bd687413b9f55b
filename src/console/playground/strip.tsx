/** The newest tasks as small images: each shows its result beside the form. */

import { taskCharacter, taskImages, taskPrompt, type TaskData, taskVideo } from "../answers.ts";
import { useAround } from "../parts/context.ts";
import { Icon } from "../parts/icon.tsx";
import { shownStatus, statusWord } from "../parts/status.tsx";
import { isGone } from "../tasks/answers.ts";

const icons = { queued: "clock", in_progress: "spin", failed: "bad", cancelled: "ban" } as const;

const Thumb = ({ task }: { task: TaskData }) => {
  const status = shownStatus(task);
  if (status !== "completed") return <Icon name={icons[status]} />;
  const image = isGone(task)
    ? undefined
    : (taskImages(task)[0]?.url[0] ?? taskVideo(task)?.thumbnail ?? taskCharacter(task)?.profile_picture_url);
  return image === undefined ? <Icon name={taskVideo(task) ? "film" : "clock"} /> : <img src={image} alt="" loading="lazy" />;
};

/** `shown` are the ids of the tasks in the right pane. */
export const Strip = ({ tasks, shown, isSwapped }: { tasks: TaskData[]; shown: TaskData[]; isSwapped?: boolean }) => {
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
            <Thumb task={task} />
          </a>
        );
      })}
    </nav>
  );
};
