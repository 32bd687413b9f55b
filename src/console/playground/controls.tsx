/** One control for each kind of field: chips, segments, selects, text. */

import type { Child } from "hono/jsx";
import type { Action } from "../../catalog/models.ts";
import { useAround } from "../parts/context.ts";
import { Icon } from "../parts/icon.tsx";
import { hintOf, labelOf, wordOf } from "../messages/playground-fields.ts";
import { type Field, mayFollowImage, type Typed } from "./fields.ts";
import { Shape } from "./shape.tsx";
import { Tray } from "./tray.tsx";

export interface FormState {
  action: Action;
  fields: Field[];
  typed: Typed;
  /** The API's errors by field name. */
  problems: Map<string, string[]>;
  /** Videos of the account that a field may name. */
  videos: { id: string; title: string }[];
}

interface ControlProps {
  field: Field;
  state: FormState;
}

/** Long texts get a text area, short ones a line. */
const longText = 200;
/** More values than these are a list to choose from. */
const mostSegments = 12;

export const one = (typed: Typed, name: string) => typed.get(name)?.[0];

/** The label's words, and its unit in parentheses. */
const labelParts = (label: string) => /^(.*?)\s*[(（](.+)[)）]$/.exec(label)?.slice(1) ?? [label];

/** A field's label without its unit. */
export const shortLabel = (language: Parameters<typeof labelOf>[0], name: string) => labelParts(labelOf(language, name))[0] ?? name;

/** The values of a field with few of them; undefined for all others. */
function valuesOf(field: Field): (string | number)[] | undefined {
  if (field.as === "choice") return field.options;
  if (field.as !== "number" || !field.isWhole || field.fallback === undefined) return undefined;
  const { minimum = 0, maximum = Infinity } = field;
  return maximum - minimum < mostSegments ? Array.from({ length: maximum - minimum + 1 }, (_, at) => minimum + at) : undefined;
}

/** Fields with several controls are a named group, others have a label. */
const isGroup = (field: Field) =>
  field.as === "pictures" || (field.as === "choice" && field.fallback === undefined ? false : valuesOf(field) !== undefined);

/** The attributes that describe a control to screen readers. */
function described(name: string, { problems, action }: FormState) {
  const { language } = useAround();
  const ids = [hintOf(language, name, action) !== undefined && `hint-${name}`, problems.has(name) && `problem-${name}`].filter(Boolean);
  return {
    ...(ids.length > 0 && { "aria-describedby": ids.join(" ") }),
    ...(problems.has(name) && { "aria-invalid": "true" as const }),
  };
}

function FieldHelp({ name, state: { problems, action } }: { name: string; state: FormState }) {
  const hint = hintOf(useAround().language, name, action);
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

/** Ratios as shapes; the first may be that of the first frame. */
const Shapes = ({ field, state, values }: ControlProps & { values: (string | number)[] }) => {
  const { say } = useAround();
  const chosen = one(state.typed, field.name) ?? "";
  const all = mayFollowImage(field, state.fields) ? [...values.map(String), ""] : values.map(String);
  return (
    <div class="chips">
      {all.map((ratio, at) => (
        <label class="chip shape" title={ratio === "" ? say("size_auto_hint") : undefined}>
          <input type="radio" name={field.name} value={ratio} id={at === 0 ? `f-${field.name}` : undefined} checked={ratio === chosen} />
          <Shape ratio={ratio} />
          {ratio === "" ? say("size_auto") : ratio}
        </label>
      ))}
    </div>
  );
};

const Segments = ({ field, state, values }: ControlProps & { values: (string | number)[] }) => {
  const { language } = useAround();
  const chosen = one(state.typed, field.name);
  const word = (value: string | number) => (field.key === "duration" && values.length < 7 ? `${value} s` : wordOf(language, String(value)));
  return (
    <div class="seg full">
      {values.map((value, at) => (
        <label>
          <input
            type="radio"
            name={field.name}
            value={String(value)}
            id={at === 0 ? `f-${field.name}` : undefined}
            checked={String(value) === chosen}
          />
          {word(value)}
        </label>
      ))}
    </div>
  );
};

/** A video of the account, or any id. */
const VideoSelect = ({ field, state, ...common }: ControlProps & { id: string }) => {
  const { say } = useAround();
  const chosen = one(state.typed, field.name) ?? "";
  const isKnown = chosen === "" || state.videos.some(({ id }) => id === chosen);
  return (
    <select class="in" name={field.name} {...common}>
      <option value="">{say(state.videos.length === 0 ? "no_videos" : "choose_video")}</option>
      {!isKnown && (
        <option value={chosen} selected>
          {chosen}
        </option>
      )}
      {state.videos.map(({ id, title }) => (
        <option value={id} selected={id === chosen}>
          {title}
        </option>
      ))}
    </select>
  );
};

function Control({ field, state }: ControlProps): Child {
  const { language, say } = useAround();
  const { name, isRequired: required } = field;
  const value = one(state.typed, name);
  const values = valuesOf(field);
  const common = { id: `f-${name}`, name, required, ...described(name, state) };
  if (field.as === "pictures") return <Tray field={field} typed={state.typed} />;
  if (values && isGroup(field))
    return name === "size" ? (
      <Shapes field={field} state={state} values={values} />
    ) : (
      <Segments field={field} state={state} values={values} />
    );
  if (["video_id", "from_task"].includes(name)) return <VideoSelect field={field} state={state} {...common} />;
  switch (field.as) {
    case "choice":
      return (
        <select class="in" {...common}>
          {field.fallback === undefined && <option value="">{say("not_set")}</option>}
          {field.options.map((option) => (
            <option value={String(option)} selected={String(option) === value}>
              {wordOf(language, String(option))}
            </option>
          ))}
        </select>
      );
    case "flag":
      return <input {...common} class="switch" type="checkbox" role="switch" required={false} checked={state.typed.has(name)} />;
    case "number":
      return (
        <input
          {...common}
          class="in num"
          type="number"
          min={field.minimum}
          max={field.maximum}
          step={field.isWhole ? 1 : "any"}
          value={value}
        />
      );
    case "text":
      if ((field.most ?? 0) >= longText)
        return (
          <textarea {...common} class="in" maxlength={field.most} rows={3}>
            {value}
          </textarea>
        );
      return (
        <input
          {...common}
          class="in"
          type={field.isUrl ? "url" : "text"}
          maxlength={field.most}
          pattern={field.pattern}
          value={value}
          placeholder={field.isUrl ? "https://…" : undefined}
        />
      );
    case "messages":
      return null;
    default:
      return (
        <textarea {...common} class="in mono" rows={1} spellcheck={false}>
          {value}
        </textarea>
      );
  }
}

/** A field with its label, its hint and its errors. */
export function Labelled({ field, state }: ControlProps) {
  const { language, say } = useAround();
  const { name, as } = field;
  const [label, unit] = labelParts(labelOf(language, name));
  const opt = as === "pictures" ? say("up_to", { most: field.most }) : unit;
  if (isGroup(field))
    return (
      <fieldset
        class="field"
        data-field={as === "pictures" ? (field.roles.length > 0 ? "images image_with_roles" : "images") : name}
        role={as === "pictures" ? undefined : "radiogroup"}
        {...described(name, state)}
        aria-invalid={as !== "pictures" && state.problems.has(name) ? "true" : undefined}
      >
        <legend>
          {label} {opt !== undefined && <span class="opt">{opt}</span>}
        </legend>
        <Control field={field} state={state} />
        <FieldHelp name={name} state={state} />
      </fieldset>
    );
  return (
    <div class="field" data-field={name}>
      {as === "flag" ? (
        <label class="check">
          <Control field={field} state={state} />
          {label}
        </label>
      ) : (
        <>
          <label for={`f-${name}`}>
            {label} {opt !== undefined && <span class="opt">{opt}</span>}
          </label>
          <Control field={field} state={state} />
        </>
      )}
      <FieldHelp name={name} state={state} />
    </div>
  );
}
