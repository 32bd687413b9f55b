/** The actions on a task: cancel it while it runs, download, run again, remix its video, create a character from it, delete it. */

import type { Child } from "hono/jsx";
import type { Asset } from "../../storage/assets.ts";
import type { Submission } from "../../tasks/record.ts";
import { Button, CopyError, Icon, Link, SelectField, TextArea, TextField, useAround } from "../parts/index.ts";
import { type ModelEntry, type Refusal, type TaskData, taskVideo } from "../answers.ts";
import { isGone, isOpen } from "./answers.ts";
import { isRepeatable, lacksImages } from "./request.ts";
import { describeFile } from "./result.tsx";
import { fullAmount } from "../amounts.ts";
import { fromUnits } from "../../db/ledger.ts";

export type FormName = "again" | "cancel" | "remix" | "character" | "callback" | "delivery";

/** An invalid form: the message, and the typed values. */
export interface Refused {
  form: FormName;
  refusal: Refusal;
  typed: (name: string) => string;
}

interface ActionsProps {
  task: TaskData;
  submission: Submission;
  /** The files of its result. */
  files: Asset[];
  /** The available models; needed only for videos. */
  models: ModelEntry[];
  refused: Refused | undefined;
}

/** One form of a task's page. Its idempotency key ensures that submitting it twice runs it once. */
const Form = ({ task, name, children }: { task: TaskData; name: FormName; children: Child }) => (
  <form method="post" action={`/console/tasks/${task.id}/${name}`} class="stack">
    <input type="hidden" name="key" value={crypto.randomUUID()} />
    {children}
  </form>
);

/** True if its video still exists and can be used for a remix or a character. Private videos cannot be remixed. */
const videoIn = (task: TaskData) => (isGone(task) ? undefined : taskVideo(task));

/** The remix form's models; undefined if the task cannot be remixed. Private videos cannot be. */
function remixSchema({ task, models }: ActionsProps) {
  const schema = models.find(({ id }) => id === task.model)?.actions?.remix?.properties;
  return videoIn(task) && !task.metadata["private"] ? schema : undefined;
}

/** A form that a button in the row opens. The button links to it, so that it opens without script. */
const Panel = ({ name, title, refused, children }: { name: FormName; title: string; refused: Refused | undefined; children: Child }) => (
  <section id={name} class={refused?.form === name ? "card fold open" : "card fold"} aria-label={title} tabindex={-1}>
    <h2>{title}</h2>
    {children}
  </section>
);

/** The models with their durations and prices: the durations depend on the model. */
function Remix(props: ActionsProps) {
  const { task, models, refused } = props;
  const { language, t, unit } = useAround();
  const remixes = models.flatMap(({ id, actions, price: { second = 0 } }) =>
    (actions?.remix?.properties?.["duration"]?.enum ?? []).map((seconds) => ({
      value: `${id}/${seconds}`,
      text: `${id}, ${t("length_seconds", { seconds: Number(seconds) })}, ${fullAmount(language, unit, fromUnits(second * Number(seconds)))}`,
    })),
  );
  const schema = remixSchema(props);
  if (!schema) return null;
  const typed = (name: string) => (refused?.form === "remix" ? refused.typed(name) : undefined);
  const size = typed("size") ?? task.metadata["size"];
  const choice = typed("choice") ?? `${task.model}/${Number(schema["duration"]?.default)}`;
  return (
    <Panel name="remix" title={t("remix")} refused={refused}>
      <Form task={task} name="remix">
        <TextArea
          name="prompt"
          label={t("remix_prompt")}
          rows={3}
          maxlength={schema["prompt"]?.maxLength}
          value={typed("prompt")}
          required
        />
        <div class="cols two">
          <label class="field">
            <span class="label">{t("model_and_length")}</span>
            <select class="in cut-choice" name="choice">
              <button type="button">
                <selectedcontent></selectedcontent>
              </button>
              {remixes.map(({ value, text }) => (
                <option value={value} selected={value === choice}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <SelectField
            name="size"
            label={t("remix_size")}
            options={(schema["size"]?.enum ?? []).map((ratio) => ({ value: String(ratio), text: String(ratio) }))}
            value={String(size)}
          />
        </div>
        <p>
          <Button class="btn primary" text={t("remix")} />
        </p>
      </Form>
    </Panel>
  );
}

/** The video for a character. */
function characterSource({ task, models }: Pick<ActionsProps, "task" | "models">) {
  return models.find(({ id }) => id === task.model)?.actions?.character ? videoIn(task) : undefined;
}

function Character({ task, models, refused }: ActionsProps) {
  const { language, t, unit } = useAround();
  const { price } = models.find(({ id }) => id === task.model) ?? {};
  const video = characterSource({ task, models });
  if (!video) return null;
  const typed = (name: string, otherwise: number) => (refused?.form === "character" ? refused.typed(name) : otherwise);
  const { duration } = video;
  const seconds = { type: "number", min: 0, max: duration, step: "any", required: true } as const;
  return (
    <Panel name="character" title={t("make_character")} refused={refused}>
      <p class="muted">{t("make_character_hint")}</p>
      <Form task={task} name="character">
        <div class="cols two">
          <TextField {...seconds} name="start" label={t("from_second")} value={typed("start", 0)} />
          <TextField {...seconds} name="end" label={t("to_second")} value={typed("end", Math.min(3, duration))} />
        </div>
        <p>
          <Button
            class="btn primary"
            text={t("make_character_for", { price: fullAmount(language, unit, fromUnits(price?.character ?? 0)) })}
          />
        </p>
      </Form>
    </Panel>
  );
}

/** Cancels a running task; the returned amount is shown beside it. */
const Cancel = ({ task, submission }: ActionsProps) => {
  const { language, t, unit } = useAround();
  return (
    <div class="row gap0">
      <Form task={task} name="cancel">
        <Button class="btn danger" icon="stop" text={t("cancel_task")} />
      </Form>
      <Link class="btn" href={`/console/playground?from=${task.id}`} icon="pen" text={t("change_and_run")} />
      <span class="meta push">{t("cancel_hint", { amount: fullAmount(language, unit, submission.price) })}</span>
    </div>
  );
};

const DownloadAll = ({ task, files }: ActionsProps) => {
  const { language, t } = useAround();
  const [first] = files;
  const count = taskVideo(task) ? 1 : files.length;
  if (!first) return null;
  return (
    <a class="btn primary" href={`/console/tasks/${task.id}/download`} download>
      <Icon name="down" />
      {count > 1 ? t("download_all") : t("download")}
      <span class="num">{count > 1 ? "ZIP" : describeFile(language, first)}</span>
    </a>
  );
};

/** In the head of a final task's page: its error to copy, its request to change and to run again, its deletion. */
export const HeadActions = ({ task, submission }: Pick<ActionsProps, "task" | "submission">) => {
  const { language, t, unit } = useAround();
  const { error } = task;
  return (
    <div class="row push">
      {error && error.code !== "cancelled" && <CopyError code={error.code} message={error.message} request={task.id} class="btn" />}
      <Link
        class={error && !isRepeatable(submission) ? "btn primary" : "btn"}
        href={`/console/playground?from=${task.id}`}
        icon="pen"
        text={t("change_and_run")}
      />
      {isRepeatable(submission) && (
        <Form task={task} name="again">
          <Button
            class={error ? "btn primary" : "btn"}
            icon="again"
            text={t("run_again_for", { price: fullAmount(language, unit, submission.price) })}
          />
        </Form>
      )}
      <form method="post" action="/console/tasks/delete">
        <input type="hidden" name="task" value={task.id} />
        <Button class="btn ghost icon" aria-label={t("delete_task")} title={t("delete_task")} icon="bin" />
      </form>
    </div>
  );
};

/** What can be done with the files of a final task. */
const Row = (props: ActionsProps) => {
  const { task, files } = props;
  const { t } = useAround();
  return files.length === 0 ? null : (
    <div class="row gap0" role="group" aria-label={t("actions")}>
      {!isGone(task) && <DownloadAll {...props} />}
      {remixSchema(props) && <Link class="btn" href="#remix" icon="remix" text={t("remix")} />}
      {characterSource(props) && <Link class="btn" href="#character" icon="face" text={t("make_character")} />}
    </div>
  );
};

/** All actions on the task in its current state. */
export const Actions = (props: ActionsProps) => {
  const { t } = useAround();
  if (isOpen(props.task)) return <Cancel {...props} />;
  return (
    <>
      <Row {...props} />
      {lacksImages(props.submission) && <p class="hint gap0">{t("images_deleted")}</p>}
      <Remix {...props} />
      <Character {...props} />
    </>
  );
};
