/** The form's controls: one for each kind of field, with its errors beside it. */

import type { Child } from "hono/jsx";
import type { Action } from "../../catalog/models.ts";
import { Icon } from "../parts/icon.tsx";
import { hintOf, labelOf, wordOf } from "../messages/playground-fields.ts";
import type { Language, Say } from "../messages.ts";
import { messagesIn } from "./body.ts";
import type { Field, Typed } from "./fields.ts";
import { maxImageBytes } from "./images.ts";

export interface FormState {
  action: Action;
  fields: Field[];
  typed: Typed;
  /** The API's errors by field name. */
  problems: Map<string, string[]>;
  language: Language;
  say: Say;
}

/** Long texts get a text area, short ones a line. */
const longText = 200;
const pictureTypes = "image/png,image/jpeg,image/webp";

const one = (typed: Typed, name: string) => typed.get(name)?.[0];

/** The ids that describe a control to screen readers. */
const described = (name: string, { problems, language, action }: FormState) => {
  const ids = [hintOf(language, name, action) && `hint-${name}`, problems.has(name) && `problem-${name}`].filter(Boolean);
  return {
    ...(ids.length > 0 && { "aria-describedby": ids.join(" ") }),
    ...(problems.has(name) && { "aria-invalid": "true" as const }),
  };
};

function FieldHelp({ name, state: { problems, language, action } }: { name: string; state: FormState }) {
  const hint = hintOf(language, name, action);
  const problem = problems.get(name);
  return (
    <>
      {hint !== undefined && (
        <p class="hint" id={`hint-${name}`}>
          {hint}
        </p>
      )}
      {problem && (
        <p id={`problem-${name}`} class="err">
          <Icon name="warn" />
          {problem.join(" · ")}
        </p>
      )}
    </>
  );
}

const Options = ({ options, chosen, language }: { options: (string | number)[]; chosen: string | undefined; language: Language }) => (
  <>
    {options.map((option) => (
      <option value={String(option)} selected={String(option) === chosen}>
        {wordOf(language, String(option))}
      </option>
    ))}
  </>
);

/** The script of this page shows chosen files; images may be dropped on the whole area. */
const ImageInput = ({ name, most, label, say }: { name: string; most: number; label: string; say: Say }) => (
  <div class="drop" data-drop={say("drop_here")}>
    <input
      type="file"
      name={name}
      accept={pictureTypes}
      multiple={most > 1}
      aria-label={label}
      data-most={most}
      data-max-bytes={maxImageBytes}
      data-too-large={say("image_too_large")}
      data-too-many={say("too_many_images", { most })}
    />
    <input type="hidden" name={`${name}.names`} />
    <div class="previews"></div>
  </div>
);

function Control({ field, state }: { field: Field; state: FormState }): Child {
  const { typed, language, say } = state;
  const { name, isRequired: required } = field;
  const common = { name, required, ...described(name, state) };
  switch (field.as) {
    case "choice":
      return (
        <select class="in" {...common}>
          {field.fallback === undefined && <option value="">{say("not_set")}</option>}
          <Options options={field.options} chosen={one(typed, name)} language={language} />
        </select>
      );
    case "flag":
      return <input {...common} class="switch" type="checkbox" role="switch" required={false} checked={typed.has(name)} />;
    case "number":
      return (
        <input
          {...common}
          class="in"
          type="number"
          min={field.minimum}
          max={field.maximum}
          step={field.isWhole ? 1 : "any"}
          value={one(typed, name)}
        />
      );
    case "text":
      if ((field.most ?? 0) >= longText)
        return (
          <textarea {...common} class="in" maxlength={field.most} rows={4}>
            {one(typed, name)}
          </textarea>
        );
      return (
        <input
          {...common}
          class="in"
          type={field.isUrl ? "url" : "text"}
          maxlength={field.most}
          pattern={field.pattern}
          value={one(typed, name)}
          list={["video_id", "from_task"].includes(name) ? "videos" : undefined}
        />
      );
    case "json":
      return (
        <textarea {...common} class="in" rows={2} spellcheck={false}>
          {one(typed, name)}
        </textarea>
      );
    case "images":
      return (
        <>
          <ImageInput name={name} most={field.most} label={labelOf(language, name)} say={say} />
          <textarea
            class="in"
            name={`${name}.url`}
            rows={2}
            aria-label={say("addresses", { field: labelOf(language, name) })}
            placeholder={say("addresses_hint")}
            {...described(name, state)}
          >
            {one(typed, `${name}.url`)}
          </textarea>
        </>
      );
    case "roles":
      return Array.from({ length: field.most }, (_, at) => (
        <div class="turn">
          <select class="in" name={`${name}.${at}.role`} aria-label={say("role_of", { number: at + 1 })} {...described(name, state)}>
            <Options
              options={field.roles}
              chosen={one(typed, `${name}.${at}.role`) ?? field.roles[Math.min(at, field.roles.length - 1)]}
              language={language}
            />
          </select>
          <div>
            <ImageInput name={`${name}.${at}`} most={1} label={say("image_of", { number: at + 1 })} say={say} />
            <input
              class="in"
              type="url"
              name={`${name}.${at}.url`}
              value={one(typed, `${name}.${at}.url`)}
              aria-label={say("address_of", { number: at + 1 })}
              placeholder={say("address_hint")}
            />
          </div>
        </div>
      ));
    case "messages": {
      const said = messagesIn(name, typed);
      const rows = said.length === 0 ? [{ role: "system", content: "" }] : said;
      return [...rows, { role: "user", content: "" }].map(({ role, content }, at) => (
        <div class="turn">
          <select class="in" name={`${name}.${at}.role`} aria-label={say("role_of", { number: at + 1 })}>
            <Options options={field.roles} chosen={role} language={language} />
          </select>
          <textarea
            class="in"
            name={`${name}.${at}.content`}
            rows={3}
            aria-label={say("message_of", { number: at + 1 })}
            {...described(name, state)}
          >
            {content}
          </textarea>
        </div>
      ));
    }
  }
}

/** Fields with several controls are a named group, others a label around their control. */
const isGroup = ({ as }: Field) => as === "images" || as === "roles" || as === "messages";

function Labelled({ field, state }: { field: Field; state: FormState }) {
  const { name, as } = field;
  const label = labelOf(state.language, name);
  if (isGroup(field))
    return (
      <fieldset class="field" data-field={name}>
        <legend>{label}</legend>
        <Control field={field} state={state} />
        <FieldHelp name={name} state={state} />
      </fieldset>
    );
  return (
    <div class="field" data-field={name}>
      <label class={as === "flag" ? "check" : "stack tight"}>
        {as === "flag" ? null : label}
        <Control field={field} state={state} />
        {as === "flag" ? label : null}
      </label>
      <FieldHelp name={name} state={state} />
    </div>
  );
}

/** Fields of the same object are grouped. */
function Grouped({ fields, state }: { fields: Field[]; state: FormState }) {
  const groups = new Set(fields.flatMap(({ group }) => group ?? []));
  return (
    <>
      {fields.map((field) => field.group === undefined && <Labelled field={field} state={state} />)}
      {[...groups].map((group) => (
        <fieldset class="stack">
          <legend>{labelOf(state.language, group)}</legend>
          {fields.map((field) => field.group === group && <Labelled field={field} state={state} />)}
        </fieldset>
      ))}
    </>
  );
}

/** More optional fields than these are folded, unless one of them is set or wrong. */
const mostInSight = 4;

/** All fields of a form. */
export function Fields(state: FormState) {
  const { fields, typed, problems, say } = state;
  const isExtra = (field: Field) => !field.isRequired && field.fallback === undefined && field.group === undefined && !isGroup(field);
  const extra = fields.filter(isExtra);
  if (extra.length <= mostInSight) return <Grouped fields={fields} state={state} />;
  return (
    <>
      <Grouped fields={fields.filter((field) => !isExtra(field))} state={state} />
      <details class="more" open={extra.some(({ name }) => problems.has(name) || (one(typed, name) ?? "") !== "")}>
        <summary>{say("more_options")}</summary>
        <div class="stack">
          <Grouped fields={extra} state={state} />
        </div>
      </details>
    </>
  );
}
