/** A task as a tile: its thumbnail, or its state. */

import { percentText } from "../amounts.ts";
import { taskImages, type TaskData, taskVideo } from "../answers.ts";
import { Icon, Link, shownStatus, statusWord, taskCredentials, useAround } from "../parts/index.ts";
import { isGone, isOpen, taskTitle } from "./answers.ts";
import type { Preview } from "./previews.ts";

/** True for results that are much wider than high: they take two columns. */
function isWide(task: TaskData): boolean {
  const { size } = task.metadata;
  const [width = 1, height = 1] = typeof size === "string" ? size.split(":").map(Number) : [];
  return width / height >= 1.4;
}

/** The seal of a task whose files carry a credential, in words for screen readers and under the pointer. */
const Seal = ({ task }: { task: TaskData }) => {
  const { t } = useAround();
  const credentials = taskCredentials(task);
  return credentials === undefined || credentials === "none" ? null : (
    <span class="badge seal" title={t(`credential_${credentials}_title`)}>
      <Icon name="seal" />
      <span class="vh">{t(`credential_${credentials}`)}</span>
    </span>
  );
};

/** The number of images, or the duration of a video. */
const Badge = ({ task }: { task: TaskData }) => {
  const { t } = useAround();
  const count = taskImages(task).length;
  const video = taskVideo(task);
  if (video)
    return (
      <span class="badge num">
        <Icon name="film" />
        {t("length_seconds", { seconds: video.duration })}
      </span>
    );
  return count > 1 ? <span class="badge num">×{count}</span> : null;
};

/** A task without files: it is running, has failed, or its files have expired. */
const Void = ({ task, title }: { task: TaskData; title: string }) => {
  const { t, language } = useAround();
  const status = shownStatus(task);
  const icon = { queued: "clock", in_progress: "spin", completed: "clock", failed: "bad", cancelled: "ban" }[status];
  const reason = status === "failed" ? task.error?.message : isGone(task) ? t("files_gone") : statusWord(t, status);
  return (
    <span class={status === "failed" ? "void bad" : "void"}>
      <Icon name={icon} />
      <b class="clamp">{title}</b>
      {isOpen(task) ? (
        <>
          <progress max={100} value={task.progress} aria-label={`${t("batch_progress")}: ${title}`} />
          <span class="meta num">
            {percentText(language, task.progress / 100)} · {t("seconds_left", { seconds: task.estimated_time ?? 1 })}
          </span>
        </>
      ) : (
        <span class="meta">{reason}</span>
      )}
    </span>
  );
};

/** The content of a tile, without its link. */
export const TileFace = ({ task, preview }: { task: TaskData; preview: Preview | undefined }) => {
  const { t } = useAround();
  const title = taskTitle(task, t);
  if (!preview) return <Void task={task} title={title} />;
  return (
    <>
      {preview.image === undefined ? (
        <span class="void still" data-capture={`/console/tasks/${task.id}/thumbnail`} data-film={preview.video} data-title={title}>
          <Icon name="film" />
          <b class="clamp">{title}</b>
        </span>
      ) : (
        <img src={preview.image} alt={title} loading="lazy" />
      )}
      <Badge task={task} />
      <Seal task={task} />
    </>
  );
};

interface TileProps {
  task: TaskData;
  preview: Preview | undefined;
  isChosen: boolean;
}

/** A tile of the gallery: opens the task, can be chosen, and has its two most frequent actions. */
export const Tile = ({ task, preview, isChosen }: TileProps) => {
  const { t } = useAround();
  const title = taskTitle(task, t);
  const path = `/console/tasks/${task.id}`;
  return (
    <li id={task.id} class={preview && isWide(task) ? "two" : undefined}>
      <a href={path} data-open={preview && `${path}/view`} data-video={preview?.video} data-title={title}>
        <TileFace task={task} preview={preview} />
        {preview && (
          <p class="clip" aria-hidden="true">
            {title}
          </p>
        )}
      </a>
      {!isOpen(task) && (
        <label class="acts sel">
          <input type="checkbox" name="task" value={task.id} checked={isChosen} aria-label={t("choose_task", { title })} />
        </label>
      )}
      {preview && (
        <div class="acts">
          <Link class="btn icon sm" href={`${path}/download`} download aria-label={t("download_task", { title })} icon="down" />
          <Link class="btn icon sm" href={`/console/playground?from=${task.id}`} aria-label={t("change_task", { title })} icon="again" />
        </div>
      )}
    </li>
  );
};
