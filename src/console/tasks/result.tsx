/** The result of a task at the top of its page: its images, its video or its character; or a placeholder. */

import type { Asset } from "../../storage/assets.ts";
import type { Task } from "../../tasks/record.ts";
import { percentText } from "../amounts.ts";
import { taskCharacter, taskImages, type TaskData, taskVideo } from "../answers.ts";
import type { Language } from "../messages.ts";
import { CredentialBadge, Empty, Link, sizeText, taskCredentials, typeName, useAround } from "../parts/index.ts";
import { ratioClass } from "../playground/shape.tsx";
import { isGone, isOpen, taskTitle } from "./answers.ts";

interface Props {
  task: TaskData;
  /** The record's own result, which has the files' types and sizes. */
  result: Task["result"];
}

/** `PNG, 1.2 MB` */
export const describeFile = (language: Language, { type, bytes }: Asset) => `${typeName(type) ?? type}, ${sizeText(language, bytes)}`;

/** One of several images, with its own download. Its file name contains the task's id and the image's number. */
const Shot = ({ task, url, asset, number, of }: { task: TaskData; url: string | undefined; asset: Asset; number: number; of: number }) => {
  const { t, language } = useAround();
  const title = `${taskTitle(task, t)}, ${number} / ${of}`;
  return (
    <figure class={ratioClass(task.metadata["size"])}>
      <img src={url} alt={title} />
      <CredentialBadge
        of={taskImages(task)[number - 1]?.credentials}
        id={`credential-${number}`}
        asset={asset}
        url={url}
        madeAt={task.completed_at}
      />
      <figcaption class="acts">
        <Link
          class="btn sm"
          href={url}
          download={`${task.id}-${number}${asset.key.slice(asset.key.lastIndexOf("."))}`}
          aria-label={`${describeFile(language, asset)}: ${t("download_task", { title })}`}
          icon="down"
          text={describeFile(language, asset)}
        />
      </figcaption>
    </figure>
  );
};

/** A running task: its progress, in the place of its result. */
const Waiting = ({ task }: { task: TaskData }) => {
  const { t, language } = useAround();
  return (
    <div class="wait card">
      <p>
        <b>{t(task.status === "queued" ? "waits_in_queue" : "being_made")}</b>
      </p>
      <progress max={100} value={task.progress} aria-label={t("batch_progress")} data-tab={percentText(language, task.progress / 100)} />
      <p class="meta num">
        {percentText(language, task.progress / 100)} · {t("seconds_left", { seconds: task.estimated_time ?? 1 })}
      </p>
    </div>
  );
};

/** The video with controls. Without a thumbnail of its own it shows its first frame, for which iOS needs a time in the URL. */
export const Player = ({ task, width, height }: { task: TaskData; width?: number; height?: number }) => {
  const { url, thumbnail } = taskVideo(task) ?? {};
  return (
    <video
      src={thumbnail === undefined ? `${url?.[0]}#t=0.001` : url?.[0]}
      poster={thumbnail}
      width={width}
      height={height}
      controls
      playsinline
      preload={thumbnail === undefined ? "metadata" : "none"}
      aria-label={taskTitle(task, useAround().t)}
      data-shot
    />
  );
};

/** What an own input made beside the files of its kind. */
const MoreResults = ({ task, result }: { task: TaskData; result: { files?: Asset[]; data?: object } }) => {
  const shown = task.result && "files" in task.result ? (task.result.files ?? []) : [];
  if (shown.length === 0 && !result.data) return null;
  return (
    <div class="stack">
      <ul>
        {shown.map(({ url, type }, at) => (
          <li>
            <a href={url[0]}>{result.files?.[at]?.key.split("/").at(-1)}</a> <span class="meta">{type}</span>
          </li>
        ))}
      </ul>
      {result.data && <pre>{JSON.stringify(result.data, null, 2)}</pre>}
    </div>
  );
};

export const Result = ({ task, result }: Props) => {
  const { t } = useAround();
  if (isOpen(task)) return <Waiting task={task} />;
  if (!result || !task.result) return null;
  const title = taskTitle(task, t);
  if (isGone(task)) return <Empty icon="clock" title={t("files_gone")} text={t("files_gone_hint")} />;
  switch (result.kind) {
    case "images": {
      const urls = taskImages(task).map(({ url }) => url[0]);
      const [only] = urls;
      return (
        <>
          {result.images.length > 1 ? (
            <div class="shots">
              {result.images.map((asset, at) => (
                <Shot task={task} url={urls[at]} asset={asset} number={at + 1} of={result.images.length} />
              ))}
            </div>
          ) : (
            <figure class="hero">
              <img src={only} alt={title} />
              <CredentialBadge of={taskCredentials(task)} id="credential" asset={result.images[0]} url={only} madeAt={task.completed_at} />
            </figure>
          )}
          <MoreResults task={task} result={result} />
        </>
      );
    }
    case "video":
      return (
        <>
          <div class="hero">
            <Player task={task} width={result.width} height={result.height} />
            <CredentialBadge
              of={taskCredentials(task)}
              id="credential"
              asset={result.video}
              url={taskVideo(task)?.url[0]}
              madeAt={task.completed_at}
            />
          </div>
          <MoreResults task={task} result={result} />
        </>
      );
    case "files":
      return <MoreResults task={task} result={result} />;
    case "character":
      return (
        <figure class="hero face">
          <img src={taskCharacter(task)?.profile_picture_url} alt={result.displayName} />
          <figcaption>
            <b>{result.displayName}</b> <code>@{result.username}</code> <a href="/console/characters">{t("characters")}</a>
          </figcaption>
        </figure>
      );
  }
};
