/** The left pane: the model, its fields, and the bar with the submit button, which shows the price. */

import { Button, FieldProblems, Money, Note, Problem, SelectField, useAround, useGap } from "../parts/index.ts";
import { OutOfBalance } from "../parts/out-of-balance.tsx";
import { decimal, exactAmount, roundedAmount } from "../amounts.ts";
import { messagesIn } from "./body.ts";
import { Labelled } from "./controls.tsx";
import { type Field, plain, type Typed } from "./fields.ts";
import { Compare, Picker } from "./picker.tsx";
import type { FormState } from "./segments.tsx";
import type { View } from "./view.ts";

/** The fields that are always visible, in this order; all others are folded. */
const inSight = [
  "video_id",
  "url",
  "from_task",
  "timestamps",
  "messages",
  "prompt",
  "pictures",
  "metadata.first_frame_image",
  "metadata.last_frame_image",
  "duration",
  "size",
  "n",
  "quality",
  "metadata.resolution",
  "max_completion_tokens",
];
/** The fields of an own input that are visible: what it needs, choices, and numbers with both limits. */
const isInSight = (field: Field): boolean =>
  field.group === "input" &&
  (field.isRequired || field.as === "choice" || (field.as === "number" && field.minimum !== undefined && field.maximum !== undefined));

/** Fields that share a line. */
const paired = new Set(["n", "quality"]);

/** Names of the form's own inputs, which are not fields of the model. */
const own = new Set(["model", "shown", "key", "do", "kind", "with", "run", "deliver_to"]);

/** Values of other models' fields: they are restored when their model is chosen again. */
function Kept({ fields, typed }: { fields: Field[]; typed: Typed }) {
  const isShown = (name: string) =>
    own.has(name) || name.startsWith("pictures.") || fields.some((field) => name === field.name || name.startsWith(`${field.name}.`));
  return (
    <>{[...typed].map(([name, [text = ""]]) => (isShown(name) || text === "" ? null : <input type="hidden" name={name} value={text} />))}</>
  );
}

/** The system message that precedes the conversation. */
const System = ({ typed }: { typed: Typed }) => {
  const { t } = useAround();
  return (
    <div class="field" data-field="messages">
      <label for="f-system">{t("system_message")}</label>
      <input type="hidden" name="messages.0.role" value="system" />
      <textarea class="in" id="f-system" name="messages.0.content" rows={3} placeholder={t("system_placeholder")}>
        {readSystem(typed)}
      </textarea>
    </div>
  );
};

/** The instructions at the start of the messages. */
const readSystem = (typed: Typed): string => {
  const [first] = messagesIn("messages", typed);
  return first && ["system", "developer"].includes(first.role) ? first.content : "";
};

function Fields({ state }: { state: FormState }) {
  const { t } = useAround();
  const { fields, typed, problems } = state;
  // A chat gives one answer: its number of answers is folded.
  const names = state.action === "chat" ? inSight.filter((name) => name !== "n") : inSight;
  const ofInput = fields.filter((field) => !names.includes(field.name) && isInSight(field));
  const shown = [...names.flatMap((name) => fields.filter((field) => field.name === name)), ...ofInput];
  const folded = fields.filter((field) => !shown.includes(field));
  const pair = shown.filter(({ name }) => paired.has(name));
  const isSet = ({ name, fallback }: Field) => {
    const text = typed.get(name)?.[0] ?? "";
    return problems.has(name) || (text !== "" && text !== plain(fallback ?? ""));
  };
  return (
    <>
      {shown.map((field) =>
        field.as === "messages" ? (
          <System typed={typed} />
        ) : field === pair[0] && pair.length > 1 ? (
          <div class="cols two">
            {pair.map((one) => (
              <Labelled field={one} state={state} />
            ))}
          </div>
        ) : pair.length > 1 && pair.includes(field) ? null : (
          <Labelled field={field} state={state} />
        ),
      )}
      {folded.length > 0 && (
        <details class="more" open={folded.some(isSet)}>
          <summary>{t("advanced")}</summary>
          <div class="stack">
            {folded.map((field) => (
              <Labelled field={field} state={state} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

/** The bucket that gets the files; nothing if the account has no destination. */
const DeliverTo = ({ destinations, value }: { destinations: string[]; value: string | undefined }) => {
  const { t } = useAround();
  if (destinations.length === 0) return null;
  const options = destinations.map((name) => ({ value: name, text: name }));
  return (
    <SelectField
      name="deliver_to"
      label={t("deliver_to")}
      options={[{ value: "", text: t("deliver_nowhere") }, ...options]}
      value={value}
    />
  );
};

/** The remaining balance. */
export const Left = ({ remaining, isSwapped }: { remaining: number | null; isSwapped?: boolean }) => {
  const { t, language, unit } = useAround();
  return (
    <span id="balance-run" {...(isSwapped && { "hx-swap-oob": "true" })}>
      {remaining !== null && t("balance_is", { amount: roundedAmount(language, unit, remaining) })}
    </span>
  );
};

/** The button with the price and its calculation. */
export function RunBar({ view, isSwapped }: { view: View; isSwapped?: boolean }) {
  const { t, language, unit } = useAround();
  const { choice, amount, remaining, tooDear, others } = view;
  const gap = useGap();
  const isChat = choice.action === "chat";
  const price = amount === null ? undefined : roundedAmount(language, unit, amount);
  return (
    <div class="run" id="run" {...(isSwapped && { "hx-swap-oob": "outerMorph" })}>
      <input type="hidden" name="key" value={view.key} autocomplete="off" />
      {tooDear && <OutOfBalance {...tooDear} />}
      {isChat ? (
        <p class="meta num" id="price">
          {amount === null ? (
            t("price_unknown_chat")
          ) : (
            <data value={decimal(amount)} title={exactAmount(language, unit, amount)}>
              {t("chat_at_most", { price: roundedAmount(language, unit, amount) })}
            </data>
          )}
        </p>
      ) : (
        <>
          <button class="btn primary full" name="do" value="run">
            <span>
              {t("run")}
              {amount !== null && (
                <>
                  {" · "}
                  <Money millionths={amount} />
                </>
              )}
            </span>
            <kbd>Ctrl ↵</kbd>
          </button>
          <p class="meta num" id="price">
            {price === undefined
              ? t("price_unknown")
              : others.length > 0
                ? t("price_of_compared", { count: others.length + 1 })
                : t("price_note")}
            {gap}
            <Left remaining={remaining} />
          </p>
        </>
      )}
      <noscript>
        <Button class="btn full" name="do" value="preview" formnovalidate text={t("preview")} />
      </noscript>
    </div>
  );
}

/** The whole form. */
export function PlaygroundForm({ view }: { view: View }) {
  const { t } = useAround();
  const { choices, choice, fields, typed, problems, problem, others, lostImages } = view;
  const state: FormState = { action: choice.action, fields, typed, problems, videos: view.videos };
  const listed = [...problems].map(([name, texts]) => ({
    field: name === "messages" ? "say" : name,
    text: texts.join(" "),
  }));
  const isChat = choice.action === "chat";
  return (
    <form
      id="form"
      method="post"
      action="/console/playground"
      enctype="multipart/form-data"
      novalidate
      data-once
      data-shown={choice.id}
      {...(!isChat && {
        "hx-post": "/console/playground",
        "hx-target": "#result",
        "hx-swap": "outerHTML",
        "hx-sync": "this:drop",
        "hx-config": "timeout:300000",
        "hx-indicator": "#run button[value=run]",
      })}
    >
      <div class="scroll">
        <div id="unsent" />
        <Problem text={problem} />
        <FieldProblems problems={listed} />
        {lostImages && (
          <Note role="status" tone="warn">
            {t("add_images_again")}
          </Note>
        )}
        <input type="hidden" name="shown" value={choice.id} autocomplete="off" />
        {/* Enter in a text input activates a form's first button: this one. */}
        <button class="vh" name="do" value="preview" tabindex={-1} aria-hidden="true" formnovalidate />
        <Picker choices={choices} choice={choice} />
        <Fields state={state} />
        <Compare choices={choices} choice={choice} others={others} />
        <DeliverTo destinations={view.destinations} value={typed.get("deliver_to")?.[0]} />
        <Kept fields={fields} typed={typed} />
        {!fields.some(({ as }) => as === "pictures") && (
          <fieldset hidden disabled>
            <ul id="tray" hx-preserve></ul>
          </fieldset>
        )}
      </div>
      <RunBar view={view} />
    </form>
  );
}
