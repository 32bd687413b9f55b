/** The actions on a task: cancel it while it runs, run it again, remix its video or create a character from it. */

import type { Child } from "hono/jsx";
import type { Say } from "../messages.ts";
import type { Submission } from "../../tasks/record.ts";
import { type ModelEntry, type TaskData, videoOf } from "../answers.ts";
import { isGone, isOpen, type Refusal } from "./answers.ts";
import { isRepeatable } from "./request.ts";

export type FormName = "again" | "cancel" | "remix" | "character";

/** A refused form: the message, and the typed values. */
export interface Refused {
  form: FormName;
  refusal: Refusal;
  typed: (name: string) => string;
}

interface FormsProps {
  task: TaskData;
  submission: Submission;
  /** The available models; needed only for videos. */
  models: ModelEntry[];
  /** An amount in balance units, formatted. */
  amount: (units: number) => string;
  refused: Refused | undefined;
  say: Say;
}

/** One form of a task's page. Its key makes sure that sending it twice runs it once. */
const Form = ({ task, name, children }: { task: TaskData; name: FormName; children: Child }) => (
  <form method="post" action={`/console/tasks/${task.id}/${name}`} class="stack">
    <input type="hidden" name="key" value={crypto.randomUUID()} />
    {children}
  </form>
);

/** True if its video still exists for a remix or a character. Private videos cannot be remixed. */
const videoIn = (task: TaskData) => (isGone(task) ? undefined : videoOf(task));

/** The models with their durations and prices: the durations depend on the model. */
function Remix({ task, models, amount, refused, say }: FormsProps) {
  const remixes = models.flatMap(({ id, actions, price: { second = 0 } }) =>
    (actions?.remix?.properties?.["duration"]?.enum ?? []).map((seconds) => ({
      value: `${id}/${seconds}`,
      text: `${id}, ${seconds} s, ${amount(second * Number(seconds))}`,
    })),
  );
  const schema = models.find(({ id }) => id === task.model)?.actions?.remix?.properties;
  if (!schema || !videoIn(task) || task.metadata["private"]) return null;
  const typed = (name: string) => (refused?.form === "remix" ? refused.typed(name) : undefined);
  const size = typed("size") ?? task.metadata["size"];
  const choice = typed("choice") ?? `${task.model}/${Number(schema["duration"]?.default)}`;
  return (
    <article class="card stack">
      <h2>{say("remix")}</h2>
      <Form task={task} name="remix">
        <label class="field">
          {say("remix_prompt")}
          <textarea class="in" name="prompt" rows={3} maxlength={schema["prompt"]?.maxLength} required>
            {typed("prompt")}
          </textarea>
        </label>
        <div class="cols two">
          <label class="field">
            {say("model_and_length")}
            <select class="in" name="choice">
              {remixes.map(({ value, text }) => (
                <option value={value} selected={value === choice}>
                  {text}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            {say("remix_size")}
            <select class="in" name="size">
              {schema["size"]?.enum?.map((ratio) => (
                <option selected={ratio === size}>{ratio}</option>
              ))}
            </select>
          </label>
        </div>
        <p>
          <button class="btn">{say("remix")}</button>
        </p>
      </Form>
    </article>
  );
}

function Character({ task, models, amount, refused, say }: FormsProps) {
  const { actions, price } = models.find(({ id }) => id === task.model) ?? {};
  const video = videoIn(task);
  if (!actions?.character || !video) return null;
  const typed = (name: string, otherwise: number) => (refused?.form === "character" ? refused.typed(name) : otherwise);
  const { duration } = video;
  const seconds = { type: "number", min: 0, max: duration, step: "any", required: true };
  return (
    <article class="card stack">
      <h2>{say("make_character")}</h2>
      <p class="muted">{say("make_character_hint")}</p>
      <Form task={task} name="character">
        <div class="cols two">
          <label class="field">
            {say("from_second")}
            <input class="in" {...seconds} name="start" value={typed("start", 0)} />
          </label>
          <label class="field">
            {say("to_second")}
            <input class="in" {...seconds} name="end" value={typed("end", Math.min(3, duration))} />
          </label>
        </div>
        <p>
          <button class="btn">{say("make_character_for", { price: amount(price?.character ?? 0) })}</button>
        </p>
      </Form>
    </article>
  );
}

/** Runs it again unchanged, or links to the playground to change it first. */
function Again({ task, submission, amount, say }: FormsProps) {
  const playground = (
    <a href={`/console/playground?from=${task.id}`} role="button" class="btn">
      {say("change_and_run")}
    </a>
  );
  if (!isRepeatable(submission))
    return (
      <>
        <p>{say("images_deleted")}</p>
        <p>{playground}</p>
      </>
    );
  return (
    <Form task={task} name="again">
      <div class="row">
        <button class="btn">{say("run_again_for", { price: amount(submission.price / 1e6) })}</button>
        {playground}
      </div>
    </Form>
  );
}

/** All actions on the task in its current state. */
export const Forms = (props: FormsProps) =>
  isOpen(props.task) ? (
    <Form task={props.task} name="cancel">
      <button class="btn">{props.say("cancel_task")}</button>
    </Form>
  ) : (
    <>
      <Again {...props} />
      <Remix {...props} />
      <Character {...props} />
    </>
  );
