/** A table of a request's fields: allowed values and defaults. */

import type { Action } from "../../catalog/models.ts";
import { fieldHint, fieldLabel } from "../messages/playground-fields.ts";
import { Table, useAround } from "../parts/index.ts";
import type { Field } from "../playground/fields.ts";

/** The allowed values of a field. */
const Allowed = ({ field }: { field: Field }) => {
  const { t, language } = useAround();
  const number = (value: number) => value.toLocaleString(language).replace("-", "−");
  switch (field.as) {
    case "choice":
      return <>{field.options.join(", ")}</>;
    case "flag":
      return <>true, false</>;
    case "number": {
      const { minimum, maximum } = field;
      if (minimum === undefined || maximum === undefined) return <>{t("field_number")}</>;
      if (field.isWhole && maximum === Number.MAX_SAFE_INTEGER) return <>{t("field_whole")}</>;
      if (minimum === maximum) return <>{number(minimum)}</>;
      // A dash beside a minus sign cannot be read.
      return (
        <>
          {minimum < 0 ? t("field_range", { minimum: number(minimum), maximum: number(maximum) }) : `${number(minimum)}–${number(maximum)}`}
        </>
      );
    }
    case "text":
      return <>{field.most === undefined ? t("field_text") : t("field_text_most", { most: number(field.most) })}</>;
    case "images":
      return <>{t("field_images", { most: field.most })}</>;
    case "pictures":
      return <>{t("field_images", { most: field.most })}</>;
    case "roles":
      return <>{t("field_images_with_roles", { most: field.most, roles: field.roles.join(", ") })}</>;
    case "messages":
      return <>{field.roles.join(", ")}</>;
    case "json":
      return <>JSON</>;
  }
};

/** The default of a field. */
const Fallback = ({ field: { isRequired, fallback } }: { field: Field }) => {
  if (isRequired) return <strong>{useAround().t("field_required")}</strong>;
  return fallback === undefined ? <>–</> : <code>{typeof fallback === "string" ? fallback : JSON.stringify(fallback)}</code>;
};

export const FieldTable = ({ action, fields, label }: { action: Action; fields: Field[]; label: string }) => {
  const { t, language } = useAround();
  return (
    <Table label={label} class="fields four" columns={[t("field_name"), t("field_allowed"), t("field_default"), t("field_meaning")]}>
      {fields.map((field) => (
        <tr>
          <th scope="row">
            <code>{field.name}</code>
          </th>
          <td class="wrap">
            <Allowed field={field} />
          </td>
          <td
            data-label={field.fallback === undefined ? undefined : t("field_default")}
            class={!field.isRequired && field.fallback === undefined ? "void-s" : undefined}
          >
            <Fallback field={field} />
          </td>
          <td class="wrap">
            {fieldLabel(language, field.name, action)}
            {fieldHint(language, field.name, action) !== undefined && <span class="hint"> {fieldHint(language, field.name, action)}</span>}
          </td>
        </tr>
      ))}
    </Table>
  );
};
