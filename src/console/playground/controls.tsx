/** A field of the form: its label, the control for its kind, its hint and its errors. */

import type { Child } from "hono/jsx";
import { Icon, useAround } from "../parts/index.ts";
import { fieldHint, fieldLabel, labelParts } from "../messages/playground-fields.ts";
import type { Field } from "./fields.ts";
import {
  type ControlProps,
  type FormState,
  one,
  optionLabel,
  Segments,
  Shapes,
  listValues,
  maxSegments,
  VideoSelect,
} from "./segments.tsx";
import { Tray } from "./tray.tsx";

/** Long texts get a text area, short ones a line. */
const longText = 200;

/** Fields with several controls are a labelled group, others have a label. */
function isGroup(field: Field): boolean {
  if (field.as === "pictures") return true;
  if (field.as === "choice" && field.fallback === undefined) return false;
  const values = listValues(field);
  return values !== undefined && (field.name === "size" || values.length <= maxSegments);
}

/** The attributes that describe a control to screen readers. */
function described(name: string, { problems, action }: FormState) {
  const { language } = useAround();
  const ids = [fieldHint(language, name, action) !== undefined && `hint-${name}`, problems.has(name) && `problem-${name}`].filter(Boolean);
  return {
    ...(ids.length > 0 && { "aria-describedby": ids.join(" ") }),
    ...(problems.has(name) && { "aria-invalid": "true" as const }),
  };
}

function FieldHelp({ name, state: { problems, action } }: { name: string; state: FormState }) {
  const hint = fieldHint(useAround().language, name, action);
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
          {problem.join(" ")}
        </p>
      )}
    </>
  );
}

function Control({ field, state }: ControlProps): Child {
  const { language, t } = useAround();
  const { name, isRequired: required } = field;
  const value = one(state.typed, name);
  const values = listValues(field);
  const common = { id: `f-${name}`, name, required, ...described(name, state) };
  if (field.as === "pictures") return <Tray field={field} typed={state.typed} />;
  if (values && isGroup(field))
    return name === "size" ? (
      <Shapes field={field} state={state} values={values} />
    ) : (
      <Segments field={field} state={state} values={values} />
    );
  if (["video_id", "from_task"].includes(name)) return <VideoSelect field={field} state={state} {...common} />;
  if (values)
    return (
      <select class="in" {...common}>
        {field.fallback === undefined && <option value="">{t("not_set")}</option>}
        {values.map((option) => (
          <option value={String(option)} selected={String(option) === value}>
            {optionLabel(t, language, field, option)}
          </option>
        ))}
      </select>
    );
  switch (field.as) {
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
    case "choice":
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

/** A field with its label, its hint and its errors. Values to choose from have their unit with them. */
export function Labelled({ field, state }: ControlProps) {
  const { language, t } = useAround();
  const { name, as } = field;
  const [label, unit] = labelParts(fieldLabel(language, name));
  const opt = as === "pictures" ? t("up_to", { most: field.most }) : listValues(field) ? undefined : unit;
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
