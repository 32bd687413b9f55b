/** The right pane of a run: waiting, done, failed; several side by side when models are compared. */

import { roundedAmount } from "../amounts.ts";
import { promptOf, characterOf, imagesOf, type TaskData, videoOf } from "../answers.ts";
import { useAround } from "../parts/context.ts";
import { DateTime } from "../parts/date-time.tsx";
import { Icon } from "../parts/icon.tsx";
import { Money } from "../parts/money.tsx";
import { shownStatus, StatusPill } from "../parts/status.tsx";
import { isGone, isOpen } from "../tasks/answers.ts";
import { ratioClass } from "./shape.tsx";

/** The model that makes videos of images. */
const videoModel = "vidA-2";

const toMillionths = (units: number) => Math.round(units * 1e6);
const runsPath = (tasks: TaskData[]) => `/console/playground/runs/${tasks.map(({ id }) => id).join(",")}`;

/** The file name's ending of an asset: `.png`. */
const ending = (url = "") => /\.\w+$/.exec(URL.parse(url)?.pathname ?? "")?.[0] ?? "";

/** The attributes of a part that asks for itself until its tasks have ended. */
const refreshing = (tasks: TaskData[]) => ({
  "hx-get": runsPath(tasks),
  "hx-trigger": "every 2s",
  "hx-swap": "outerMorph",
  "hx-status:4xx": "swap:none",
  "hx-status:5xx": "swap:none",
});

/** Time and money of an ended task. */
const Facts = ({ task }: { task: TaskData }) => {
  const { charged = 0 } = task.cost;
  return charged === 0 ? null : (
    <span class="meta num">
      {task.completed_at !== undefined && `${Math.max(1, task.completed_at - task.created_at)} s · `}
      <Money millionths={toMillionths(charged)} />
    </span>
  );
};

/** Cancels all open runs in sight. */
const Cancel = ({ tasks }: { tasks: TaskData[] }) => {
  const { say } = useAround();
  return (
    <form method="post" action={`${runsPath(tasks)}/cancel`} hx-post={`${runsPath(tasks)}/cancel`} hx-target="#result" hx-swap="outerHTML">
      <button class="btn ghost sm">
        <Icon name="stop" />
        {say("cancel")}
      </button>
    </form>
  );
};

/** Beside the tabs: the state, what it took, and the way to stop it. */
export const State = ({ tasks, isSwapped }: { tasks: TaskData[]; isSwapped?: boolean }) => {
  const { say } = useAround();
  const open = tasks.filter(isOpen);
  const [only] = tasks;
  const charged = tasks.reduce((sum, { cost }) => sum + toMillionths(cost.charged ?? 0), 0);
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
          {say("compared_done", { done: tasks.length - open.length, count: tasks.length })}
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

/** A place of the same size as what will be there, with the progress in it. */
const Waiting = ({ task, isFirst }: { task: TaskData; isFirst: boolean }) => {
  const { say } = useAround();
  const { progress, metadata, estimated_time: seconds = 1, status } = task;
  return (
    <div class={`wait ${ratioClass(metadata["size"])}`}>
      {isFirst && (
        <>
          <b>{say(status === "queued" ? "waits_in_queue" : `making_${metadata.kind}`)}</b>
          <progress value={progress} max={100} aria-label={say("task_progress")} />
          <p class="meta num">
            {progress} % · {say("seconds_left", { seconds })} · {say("may_leave")}
          </p>
        </>
      )}
    </div>
  );
};

const IconLink = ({ icon, label, ...attributes }: { icon: string; label: string; [name: string]: unknown }) => (
  <a class="btn icon sm" aria-label={label} title={label} {...attributes}>
    <Icon name={icon} />
  </a>
);

const Images = ({ task }: { task: TaskData }) => {
  const { say } = useAround();
  const images = imagesOf(task);
  const prompt = promptOf(task) ?? "";
  return (
    <>
      {images.map(({ url: [url] }, at) => {
        const name = images.length > 1 ? say("image_number", { prompt, number: at + 1, count: images.length }) : prompt;
        const from = `${task.id}/${at}`;
        return (
          <figure class={ratioClass(task.metadata["size"])}>
            <a href={`/console/tasks/${task.id}`}>
              <img src={url} alt={name} />
            </a>
            <div class="acts">
              <IconLink
                icon="down"
                label={`${say("download")}: ${name}`}
                href={url}
                download={images.length > 1 ? `${task.id}-${at + 1}${ending(url)}` : `${task.id}${ending(url)}`}
              />
              <IconLink
                icon="image"
                label={`${say("use_as_input")}: ${name}`}
                href={`/console/playground?model=${encodeURIComponent(task.model)}&pictures.0.task=${from}`}
                data-use={from}
              />
              <IconLink
                icon="film"
                label={`${say("make_video")}: ${name}`}
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
  const video = videoOf(task);
  return video ? (
    <figure class={ratioClass(task.metadata["size"])}>
      <video src={video.url[0]} poster={video.thumbnail} controls playsinline preload="metadata" aria-label={promptOf(task)} />
    </figure>
  ) : null;
};

const Character = ({ task }: { task: TaskData }) => {
  const character = characterOf(task);
  return character ? (
    <figure class="r-1-1 small">
      <img src={character.profile_picture_url} alt={character.display_name} />
      <figcaption>
        {character.display_name} <code>@{character.username}</code>
      </figcaption>
    </figure>
  ) : null;
};

/** Why there is nothing to see, and that it cost nothing. */
const Failed = ({ task }: { task: TaskData }) => {
  const { say, language, unit } = useAround();
  const isCancelled = shownStatus(task) === "cancelled";
  const { charged = 0, reserved } = task.cost;
  return (
    <div class={isCancelled ? "over" : "over bad"}>
      <Icon name={isCancelled ? "ban" : "bad"} />
      <b>{isCancelled ? say("run_cancelled") : task.error?.message}</b>
      <p class="meta num">
        {charged === 0
          ? say("money_came_back", { amount: roundedAmount(language, unit, toMillionths(reserved)) })
          : `${say("cost_charged")}: ${roundedAmount(language, unit, toMillionths(charged))}`}
      </p>
      {!isCancelled && <p class="meta">{say("change_prompt_hint")}</p>}
    </div>
  );
};

/** What a task has made so far. */
function Shots({ task }: { task: TaskData }) {
  const { say } = useAround();
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
  if (isGone(task) && !characterOf(task))
    return (
      <div class="over">
        <Icon name="clock" />
        <b>{say("files_gone")}</b>
        <p class="meta">{say("files_gone_hint")}</p>
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

const Foot = ({ task }: { task: TaskData }) => {
  const { say } = useAround();
  const video = videoOf(task);
  return (
    <div class="row">
      <a class="btn" href={`/console/tasks/${task.id}`}>
        {say("open_task")}
      </a>
      {video && !isGone(task) && (
        <a class="btn ghost" href={video.url[0]} download={`${task.id}.mp4`}>
          <Icon name="down" />
          {say("download")}
        </a>
      )}
      {task.expires_at !== undefined && !isGone(task) && (
        <span class="meta push">
          {say("files_expire_at")} <DateTime ms={1000 * task.expires_at} />
        </span>
      )}
    </div>
  );
};

/** The runs' part of the right pane. */
export const Runs = ({ tasks }: { tasks: TaskData[] }) => {
  const [only] = tasks;
  const isOne = only !== undefined && tasks.length === 1;
  const shots = isOne && !isOpen(only) ? imagesOf(only).length || 1 : Number(only?.metadata["n"] ?? 1);
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
                <h3>{task.model}</h3>
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
