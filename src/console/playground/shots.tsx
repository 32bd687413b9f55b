/** The output of a task: a placeholder, images, a video, a character, or the reason why it was not made. */

import { percentText, roundedAmount } from "../amounts.ts";
import { taskCharacter, taskImages, taskPrompt, type TaskData, taskVideo } from "../answers.ts";
import { Icon, Link, shownStatus, useAround } from "../parts/index.ts";
import { isGone, isOpen, saysFree } from "../tasks/answers.ts";
import { ratioClass } from "./shape.tsx";
import { fromUnits } from "../../db/ledger.ts";

/** The model that makes videos from images. */
const videoModel = "vidA-2";

/** The file name extension of an asset: `.png`. */
const ending = (url = "") => /\.\w+$/.exec(URL.parse(url)?.pathname ?? "")?.[0] ?? "";

/** The place of a run that was sent and has no answer yet. */
export const Sent = () => {
  const { t } = useAround();
  return (
    <div class="wait r-16-9">
      <b>{t("run_sent")}</b>
      <progress aria-label={t("batch_progress")} />
    </div>
  );
};

/** A placeholder of the output's size, with the progress in it. */
const Waiting = ({ task, isFirst }: { task: TaskData; isFirst: boolean }) => {
  const { t, language } = useAround();
  const { progress, metadata, estimated_time: seconds = 1, status } = task;
  return (
    <div class={`wait ${ratioClass(metadata["size"])}`}>
      {isFirst && (
        <>
          <b>{t(status === "queued" ? "waits_to_start" : `making_${metadata.kind}`)}</b>
          <progress value={progress} max={100} aria-label={t("batch_progress")} data-tab={percentText(language, progress / 100)} />
          <p class="meta num">
            {percentText(language, progress / 100)} · {t("seconds_left", { seconds })} · {t("may_leave")}
          </p>
        </>
      )}
    </div>
  );
};

const Act = ({ label, ...attributes }: { icon: string; label: string; [name: string]: unknown }) => (
  <Link class="btn icon sm" aria-label={label} title={label} {...attributes} />
);

const Images = ({ task }: { task: TaskData }) => {
  const { t } = useAround();
  const images = taskImages(task);
  const prompt = taskPrompt(task) ?? "";
  return (
    <>
      {images.map(({ url: [url] }, at) => {
        const name = images.length > 1 ? t("image_number", { prompt, number: at + 1, count: images.length }) : prompt;
        const from = `${task.id}/${at}`;
        return (
          <figure class={ratioClass(task.metadata["size"])}>
            <a href={`/console/tasks/${task.id}`}>
              <img src={url} alt={name} />
            </a>
            <div class="acts">
              <Act
                icon="down"
                label={`${t("download")}: ${name}`}
                href={url}
                download={images.length > 1 ? `${task.id}-${at + 1}${ending(url)}` : `${task.id}${ending(url)}`}
              />
              <Act
                icon="image"
                label={`${t("use_as_input")}: ${name}`}
                href={`/console/playground?model=${encodeURIComponent(task.model)}&pictures.0.task=${from}`}
                data-use={from}
              />
              <Act
                icon="film"
                label={`${t("make_video")}: ${name}`}
                href={`/console/playground?${new URLSearchParams({ model: videoModel, prompt, "pictures.0.task": from })}`}
              />
            </div>
          </figure>
        );
      })}
    </>
  );
};

const Video = ({ task }: { task: TaskData }) => {
  const video = taskVideo(task);
  return video ? (
    <figure class={ratioClass(task.metadata["size"])}>
      <video src={video.url[0]} poster={video.thumbnail} controls playsinline preload="metadata" aria-label={taskPrompt(task)} />
    </figure>
  ) : null;
};

const Character = ({ task }: { task: TaskData }) => {
  const character = taskCharacter(task);
  return character ? (
    <figure class="r-1-1 small">
      <img src={character.profile_picture_url} alt={character.display_name} />
      <figcaption>
        {character.display_name} <code>@{character.username}</code>
      </figcaption>
    </figure>
  ) : null;
};

/** The reason why there is no output, and that nothing was charged. */
const Failed = ({ task }: { task: TaskData }) => {
  const { t, language, unit } = useAround();
  const isCancelled = shownStatus(task) === "cancelled";
  const { charged = 0, reserved } = task.cost;
  return (
    <div class={isCancelled ? "over" : "over bad"}>
      <Icon name={isCancelled ? "ban" : "bad"} />
      <b>{isCancelled ? t("run_cancelled") : task.error?.message}</b>
      <p class="meta num">
        {charged === 0
          ? t(saysFree(task.error?.code) ? "money_only_back" : "money_came_back", {
              amount: roundedAmount(language, unit, fromUnits(reserved)),
            })
          : `${t("usage_charged")}: ${roundedAmount(language, unit, fromUnits(charged))}`}
      </p>
      {!isCancelled && <p class="meta">{t("change_prompt_hint")}</p>}
    </div>
  );
};

/** The task's outputs so far. */
export function Shots({ task }: { task: TaskData }) {
  const { t } = useAround();
  if (isOpen(task)) {
    const count = Number(task.metadata["n"] ?? 1);
    return (
      <>
        {Array.from({ length: count }, (_, at) => (
          <Waiting task={task} isFirst={at === 0} />
        ))}
      </>
    );
  }
  if (task.error) return <Failed task={task} />;
  if (isGone(task) && !taskCharacter(task))
    return (
      <div class="over">
        <Icon name="clock" />
        <b>{t("files_gone")}</b>
        <p class="meta">{t("files_gone_hint")}</p>
      </div>
    );
  return (
    <>
      <Images task={task} />
      <Video task={task} />
      <Character task={task} />
    </>
  );
}
