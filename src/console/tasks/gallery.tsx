/** The account's tasks as cards: filtered, in pages, refreshed while one of them runs. */

import { allModels } from "../../catalog/models.ts";
import { askGateway, type ConsoleContext, page } from "../frame.tsx";
import type { Say } from "../messages.ts";
import { characterOf, imagesOf, promptOf, readTasks, type TaskData, videoOf } from "../answers.ts";
import { isGone, isOpen, refusalOf } from "./answers.ts";
import { live } from "./live.ts";
import { DateTime } from "../parts/date-time.tsx";
import { Problem } from "../parts/note.tsx";
import { shownStatus, StatusPill, statusWord } from "../parts/status.tsx";

const kinds = ["image", "video", "character", "remix"] as const;
const statuses = ["queued", "in_progress", "completed", "failed"] as const;

/** The progress as a bar with its number. */
export const Progress = ({ task, say }: { task: TaskData; say: Say }) => (
  <>
    <progress value={task.progress} max={100} aria-label={say("task_progress")} /> <span class="meta num">{task.progress} %</span>
  </>
);

const longestTitle = /^[^]{0,120}/u;

/** The title of a task in one line. */
function titleOf(task: TaskData, say: Say): string {
  const character = characterOf(task);
  const text = promptOf(task) ?? (character ? `@${character.username}` : say(`kind_${task.metadata.kind}`));
  const [title = text] = longestTitle.exec(text) ?? [];
  return title.length < text.length ? `${title}…` : title;
}

/** Its first image or video, or the reason why there is none. */
function Preview({ task, say }: { task: TaskData; say: Say }) {
  const { result, error } = task;
  if (error) return <span class="preview">{error.message}</span>;
  if (!result) return <span class="preview">{statusWord(say, shownStatus(task))}</span>;
  if (isGone(task)) return <span class="preview">{say("files_gone")}</span>;
  const video = videoOf(task);
  const image = video ? video.thumbnail : (imagesOf(task)[0]?.url[0] ?? characterOf(task)?.profile_picture_url);
  // A video without a thumbnail shows its first frame.
  return image === undefined ? (
    <video class="preview" src={`${video?.url[0]}#t=0.1`} preload="metadata" muted playsinline />
  ) : (
    <img class="preview" src={image} alt="" loading="lazy" />
  );
}

const Card = ({ task, say }: { task: TaskData; say: Say }) => (
  <li id={task.id}>
    <article class="card">
      <a href={`/console/tasks/${task.id}`}>
        <Preview task={task} say={say} />
        <h2>{titleOf(task, say)}</h2>
      </a>
      <p>
        {say(`kind_${task.metadata.kind}`)} · {task.model}
      </p>
      <p>
        <StatusPill task={task} /> {isOpen(task) && <Progress task={task} say={say} />}
      </p>
      <small class="meta">
        <DateTime ms={1000 * task.created_at} />
      </small>
    </article>
  </li>
);

interface FilterProps {
  name: string;
  label: string;
  chosen: string | undefined;
  options: readonly { value: string; text: string }[];
  say: Say;
}

const Filter = ({ name, label, chosen, options, say }: FilterProps) => (
  <label class="field">
    {label}
    <select class="in" name={name}>
      <option value="">{say("any")}</option>
      {options.map(({ value, text }) => (
        <option value={value} selected={value === chosen}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

/** `GET /console/tasks?kind=&status=&model=&after=` */
export async function gallery(c: ConsoleContext) {
  const { say } = c.var;
  const asked = Object.fromEntries(["kind", "status", "model", "after"].map((name) => [name, c.req.query(name) || undefined]));
  const { after: _, ...filters } = asked;
  const queryOf = (values: Record<string, string | undefined>) =>
    new URLSearchParams(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))).toString();
  const pathOf = (values: Record<string, string | undefined>) => `/console/tasks?${queryOf(values)}`;
  const answer = await askGateway(c, `/v1/tasks?${queryOf(asked)}`);
  const refusal = answer.ok ? undefined : await refusalOf(answer);
  const { data: tasks, has_more: hasMore } = answer.ok ? await readTasks(answer) : { data: [], has_more: false };
  const isLive = tasks.some(isOpen);
  const models = allModels().filter(({ family }) => family !== "chat");
  return page(
    c,
    say("tasks"),
    <>
      <form method="get" class="filters sub">
        <Filter
          name="kind"
          label={say("kind")}
          chosen={asked["kind"]}
          options={kinds.map((value) => ({ value, text: say(`kind_${value}`) }))}
          say={say}
        />
        <Filter
          name="status"
          label={say("status")}
          chosen={asked["status"]}
          options={statuses.map((value) => ({ value, text: statusWord(say, value) }))}
          say={say}
        />
        <Filter
          name="model"
          label={say("model")}
          chosen={asked["model"]}
          options={models.map(({ id }) => ({ value: id, text: id }))}
          say={say}
        />
        <button class="btn">{say("filter")}</button>
      </form>
      <Problem text={refusal?.text} />
      <section {...(isLive ? live(pathOf(asked), "tasks", "every 3s") : { id: "tasks" })}>
        {tasks.length === 0 && !refusal && <p>{say(Object.values(asked).some(Boolean) ? "no_such_tasks" : "no_tasks")}</p>}
        <ul class="cols cards gallery">
          {tasks.map((task) => (
            <Card task={task} say={say} />
          ))}
        </ul>
        {isLive && (
          <noscript>
            <p>
              <a href={pathOf(asked)}>{say("reload_progress")}</a>
            </p>
          </noscript>
        )}
        {(asked["after"] !== undefined || hasMore) && (
          <p class="pager">
            {asked["after"] !== undefined && (
              <a class="btn sm" href={pathOf(filters)}>
                {say("newest")}
              </a>
            )}
            {hasMore && (
              <a class="btn sm push" href={pathOf({ ...filters, after: tasks.at(-1)?.id })}>
                {say("older")}
              </a>
            )}
          </p>
        )}
      </section>
    </>,
    refusal?.status ?? 200,
  );
}
