/** Form fields: label above, hint and error below, linked to the control. */

import type { Child, JSX } from "hono/jsx";
import { maxPasswordLength, minPasswordLength } from "../auth/logins.ts";
import { useAround } from "./context.ts";
import { Icon } from "./icon.tsx";

interface Around {
  /** The control's id. */
  id: string;
  label: Child;
  /** A unit, or "optional", after the label. */
  opt?: Child;
  hint?: Child;
  error?: string | undefined;
  /** Shown to the right of the label. */
  beside?: Child;
  children?: Child;
}

/** The attributes that link a control to its hint and its error. */
const described = (id: string, { hint, error }: { hint?: unknown; error?: unknown }) => {
  const ids = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(Boolean);
  return {
    id,
    ...(ids.length > 0 && { "aria-describedby": ids.join(" ") }),
    ...(error !== undefined && { "aria-invalid": "true" as const }),
  };
};

/** A control with its label, hint and error. */
const Field = ({ id, label, opt, hint, error, beside, children }: Around) => (
  <div class="field">
    <div class="row">
      <label for={id}>{label}</label>
      {opt !== undefined && <span class="opt meta">{opt}</span>}
      {beside}
    </div>
    {children}
    {hint !== undefined && (
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
    )}
    {error !== undefined && (
      <p class="err" id={`${id}-error`}>
        <Icon name="warn" />
        {error}
      </p>
    )}
  </div>
);

interface TextFieldProps extends Omit<Around, "children" | "id"> {
  name: string;
  type?: "text" | "email" | "password" | "url" | "number" | "date" | "search" | "file";
  id?: string;
  [attribute: string]: unknown;
}

/** A text input with its label. Other attributes are passed to the input. */
export const TextField = ({ name, label, opt, hint, error, beside, type = "text", id = `f-${name}`, ...rest }: TextFieldProps) => (
  <Field id={id} label={label} opt={opt} hint={hint} error={error} beside={beside}>
    <input class="in" type={type} name={name} {...described(id, { hint, error })} {...rest} />
  </Field>
);

interface TextAreaProps extends Omit<Around, "children" | "id"> {
  name: string;
  id?: string;
  class?: string;
  value?: string | undefined;
  [attribute: string]: unknown;
}

/** A text of several lines with its label. Other attributes are passed to the control. */
export const TextArea = ({
  name,
  label,
  opt,
  hint,
  error,
  beside,
  id = `f-${name}`,
  class: further = "",
  value,
  ...rest
}: TextAreaProps) => (
  <Field id={id} label={label} opt={opt} hint={hint} error={error} beside={beside}>
    <textarea class={`in ${further}`.trim()} name={name} {...described(id, { hint, error })} {...rest}>
      {value}
    </textarea>
  </Field>
);

interface SelectFieldProps extends Omit<Around, "children" | "id"> {
  name: string;
  id?: string;
  options: readonly { value: string; text: string }[];
  value?: string | undefined;
  [attribute: string]: unknown;
}

/** A choice of one of several values with its label. Other attributes are passed to the select. */
export const SelectField = ({ name, label, opt, hint, error, beside, id = `f-${name}`, options, value, ...rest }: SelectFieldProps) => (
  <Field id={id} label={label} opt={opt} hint={hint} error={error} beside={beside}>
    <select class="in" name={name} {...described(id, { hint, error })} {...rest}>
      {options.map((option) => (
        <option value={option.value} selected={option.value === value}>
          {option.text}
        </option>
      ))}
    </select>
  </Field>
);

/** A box to check, or one of several to choose, with its label. */
export const CheckField = ({ text, type = "checkbox", ...rest }: JSX.IntrinsicElements["input"] & { text: Child }) => (
  <label class="check">
    <input type={type} {...rest} />
    {text}
  </label>
);

/** The field for a new password. */
export const NewPassword = ({ label, name = "password", error }: { label: string; name?: string; error?: string | undefined }) => (
  <TextField
    label={label}
    name={name}
    type="password"
    autocomplete="new-password"
    minlength={minPasswordLength}
    maxlength={maxPasswordLength}
    hint={useAround().t("password_minimum", { minimum: minPasswordLength })}
    error={error}
    required
  />
);
