/** The models and kinds that a key may be used for: form fields and display. */

import { isPriced } from "../../catalog/catalog.ts";
import type { ConsoleContext } from "../context.ts";
import { workKinds } from "../../base/words.ts";
import type { KeyScope } from "../../db/callers.ts";
import { CheckField, TextField } from "../parts/field.tsx";

interface Choice {
  name: string;
  value: string;
  text: string;
}

/** A longer list of checkboxes has a field that filters it. */
const maxUnfiltered = 8;

/** Checkboxes; none checked means all. */
const Boxes = ({
  id,
  legend,
  hint,
  filter,
  choices,
  chosen = [],
}: {
  id: string;
  legend: string;
  /** The name of the field that filters a long list. */
  filter: string;
  hint: string;
  choices: Choice[];
  chosen?: string[] | undefined;
}) => (
  <fieldset class="field">
    <legend>{legend}</legend>
    <p class="hint">{hint}</p>
    {choices.length > maxUnfiltered && (
      <input class="in" type="search" data-filter={`boxes-${id}`} aria-label={filter} placeholder={filter} hidden />
    )}
    <div class="boxes" id={`boxes-${id}`}>
      {choices.map(({ name, value, text }) => (
        <CheckField name={name} checked={chosen.includes(value)} text={text} />
      ))}
    </div>
  </fieldset>
);

interface FieldsOfScope {
  c: ConsoleContext;
  scope?: KeyScope;
  /** What a refused form contained. */
  typed?: ((name: string) => string) | undefined;
  /** The error of the number of open tasks. */
  error?: string | undefined;
}

/** The fields of a key's scope; folded if the key has none. */
export const ScopeFields = ({ c, scope = {}, typed, error }: FieldsOfScope) => {
  const { t } = c.var;
  const { kinds: checkedKinds, models } = typed ? readBoxes(c, typed) : scope;
  const open = typed?.("open") ?? String(scope.maxOpenTasks ?? "");
  return (
    <details class="more" open={checkedKinds !== undefined || models !== undefined || open !== ""}>
      <summary>{t("scope")}</summary>
      <div class="stack">
        <Boxes
          id="kinds"
          filter={t("scope_filter")}
          legend={t("scope_kinds")}
          hint={t("scope_all")}
          choices={workKinds.map((kind) => ({ name: `kind-${kind}`, value: kind, text: t(`kind_${kind}`) }))}
          chosen={checkedKinds}
        />
        <Boxes
          id="models"
          filter={t("scope_filter")}
          legend={t("models")}
          hint={t("scope_all")}
          choices={modelIds(c).map((id) => ({ name: `model-${id}`, value: id, text: id }))}
          chosen={models}
        />
        <TextField name="open" label={t("scope_open")} inputmode="numeric" value={open} hint={t("scope_open_hint")} error={error} />
      </div>
    </details>
  );
};

/** The values of the fields, or the error of the number of open tasks. */
export function readScope(c: ConsoleContext, field: (name: string) => string): KeyScope | string {
  const open = field("open");
  if (open !== "" && !/^[1-9]\d{0,5}$/.test(open)) return c.var.t("bad_open");
  return { ...readBoxes(c, field), maxOpenTasks: open === "" ? undefined : Number(open) };
}

/** Also hidden models: a key may be limited to one before it is sold. */
const modelIds = (c: ConsoleContext) =>
  c.var.catalog.all.filter((model) => model.state !== "removed" && isPriced(model)).map(({ id }) => id);

function readBoxes(c: ConsoleContext, field: (name: string) => string): Pick<KeyScope, "kinds" | "models"> {
  const chosen = (prefix: string, values: readonly string[]) => {
    const found = values.filter((value) => field(prefix + value) !== "");
    return found.length > 0 ? found : undefined;
  };
  return {
    kinds: chosen("kind-", workKinds),
    models: chosen("model-", modelIds(c)),
  };
}
