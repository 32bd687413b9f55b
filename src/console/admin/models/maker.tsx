/** The form that begins a model with a maker's schema. */

import { schemaMakers } from "../../../base/words.ts";
import type { ConsoleContext } from "../../context.ts";
import { Button, FieldProblems, SelectField, TextField } from "../../parts/index.ts";
import type { EntryProblem, MakerModel } from "./changes.ts";
import { modelPage } from "./model-page.tsx";
import { makerPath } from "./state.ts";

export function makerPage(c: ConsoleContext, { maker, model }: MakerModel, problems: EntryProblem[] = []) {
  const { t } = c.var;
  const error = (name: string) => problems.find(({ param }) => param === name)?.text;
  return modelPage(
    c,
    { id: "", tab: "maker", revisions: [] },
    <form method="post" action={makerPath} class="card stack">
      <FieldProblems
        problems={problems.map(({ param, text }) => ({
          field: param,
          label: t(param === "maker" ? "admin_maker" : "admin_maker_model"),
          text,
        }))}
      />
      <p class="muted">{t("admin_maker_hint")}</p>
      <div class="halves">
        <SelectField
          name="maker"
          label={t("admin_maker")}
          options={schemaMakers.map((value) => ({ value, text: value }))}
          value={maker}
          error={error("maker")}
        />
        <TextField
          name="model"
          label={t("admin_maker_model")}
          hint="fal-ai/kling-video/v3/pro/text-to-video"
          value={model}
          maxlength={200}
          required
          autocomplete="off"
          spellcheck="false"
          error={error("model")}
        />
      </div>
      <div class="row">
        <Button class="btn primary" text={t("admin_maker_fetch")} />
      </div>
    </form>,
    problems.length > 0 ? 400 : 200,
  );
}
