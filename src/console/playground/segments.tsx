/** Controls for fields with few values: ratios as drawn shapes, segments, the account's videos. */

import type { Action } from "../../catalog/models.ts";
import type { Language, Translate } from "../messages.ts";
import { valueLabel } from "../messages/playground-fields.ts";
import { useAround } from "../parts/context.ts";
import { type Field, mayFollowImage, type Typed } from "./fields.ts";
import { Shape } from "./shape.tsx";

export interface FormState {
  action: Action;
  fields: Field[];
  typed: Typed;
  /** The API's errors by field name. */
  problems: Map<string, string[]>;
  /** Videos of the account that are valid for a field. */
  videos: { id: string; title: string }[];
}

export interface ControlProps {
  field: Field;
  state: FormState;
}

/** A field with more values than this is a select list. */
export const maxSegments = 5;

/** A range with more values than this is an input for a number. */
const maxOptions = 12;

export const one = (typed: Typed, name: string) => typed.get(name)?.[0];

/** The values of a field that has only few; undefined for all others. */
export function listValues(field: Field): (string | number)[] | undefined {
  if (field.as === "choice") return field.options;
  if (field.as !== "number" || !field.isWhole || field.fallback === undefined) return undefined;
  const { minimum = 0, maximum = Infinity } = field;
  return maximum - minimum < maxOptions ? Array.from({ length: maximum - minimum + 1 }, (_, at) => minimum + at) : undefined;
}

/** Ratios as shapes; the first value may be the ratio of the first frame. */
export const Shapes = ({ field, state, values }: ControlProps & { values: (string | number)[] }) => {
  const { t } = useAround();
  const chosen = one(state.typed, field.name) ?? "";
  const all = mayFollowImage(field, state.fields) ? [...values.map(String), ""] : values.map(String);
  return (
    <div class="chips">
      {all.map((ratio, at) => (
        <label class="chip shape" title={ratio === "" ? t("size_auto_hint") : undefined}>
          <input type="radio" name={field.name} value={ratio} id={at === 0 ? `f-${field.name}` : undefined} checked={ratio === chosen} />
          <Shape ratio={ratio} />
          {ratio === "" ? t("size_auto") : ratio}
        </label>
      ))}
    </div>
  );
};

/** A value as users read it: `10 s`, `Standard`. */
export const optionLabel = (t: Translate, language: Language, field: Field, value: string | number): string =>
  field.key === "duration" ? t("length_seconds", { seconds: value }) : valueLabel(language, String(value));

export const Segments = ({ field, state, values }: ControlProps & { values: (string | number)[] }) => {
  const { t, language } = useAround();
  const chosen = one(state.typed, field.name);
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
          {optionLabel(t, language, field, value)}
        </label>
      ))}
    </div>
  );
};

/** A video of the account, or any id. */
export const VideoSelect = ({ field, state, ...common }: ControlProps & { id: string }) => {
  const { t } = useAround();
  const chosen = one(state.typed, field.name) ?? "";
  const isKnown = chosen === "" || state.videos.some(({ id }) => id === chosen);
  return (
    <select class="in cut-choice" name={field.name} {...common}>
      <button type="button">
        <selectedcontent></selectedcontent>
      </button>
      <option value="">{t(state.videos.length === 0 ? "no_videos" : "choose_video")}</option>
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
