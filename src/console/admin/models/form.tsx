/** A model's entry as a form. Fields that it does not show stay as they are in the entry. */

import type { Child } from "hono/jsx";
import { builtInCatalog } from "../../../catalog/catalog.ts";
import { decimal } from "../../amounts.ts";
import { Button, CheckField, dateText, FieldProblems, Pill, SelectField, TextField, useAround } from "../../parts/index.ts";
import { routeState, type ShownRoute } from "../route-state.ts";
import type { EntryProblem } from "./changes.ts";
import { asObject, builtIn, costNames, isPlain, likeModel, priceNames, routesOf } from "./draft.ts";
import type { ShownEntry } from "./entry-text.ts";
import type { Editor } from "./state.ts";

/** The names of prices that have a label; others are shown as they are. */
const labelled = [
  "task",
  "image",
  "hd_x",
  "second",
  "1080p_x",
  "character",
  "input",
  "cached_input",
  "output",
  "run_second",
  "usd",
  "count",
  "seconds",
  "factors",
] as const;
/** Parts of a rule that name a field of the input. */
const fieldNames = new Set(["count", "seconds"]);
const isLabelled = (name: string): name is (typeof labelled)[number] => (labelled as readonly string[]).includes(name);

/** `routes[1].provider` -> `routes.1.provider`: the name of the field that shows this part of the entry. */
export function toFieldName(param: string, names: string[]): string {
  if (param === "kind" || param.startsWith("body")) return "body";
  if (param.startsWith("aliases")) return "aliases";
  if (param === "price") return `price.${names[0] ?? ""}`;
  return param.replaceAll(/\[(\d+)\]/g, ".$1");
}

type Errors = (name: string) => string | undefined;

const Body = ({ editor: { draft }, errors }: { editor: Editor; errors: Errors }) => {
  const { t } = useAround();
  const { entry, id } = draft;
  const like = likeModel(id, entry);
  const own = typeof entry["body"] === "object" && entry["body"] !== null;
  const value = entry["kind"] === "text" ? "text" : (like?.id ?? "");
  const options = [
    ...(value === "" ? [{ value: "", text: own ? t("admin_model_body_own") : t("admin_model_body_choose") }] : []),
    { value: "text", text: t("admin_model_body_chat") },
    ...builtInCatalog()
      .live.filter(({ family }) => family !== "chat")
      .map((model) => ({ value: model.id, text: t("admin_model_body_like", { model: model.id }) })),
  ];
  return (
    <div class="with-button">
      <SelectField
        name="body"
        label={t("admin_model_body")}
        hint={t("admin_model_body_hint")}
        options={options}
        value={value}
        error={errors("body")}
      />
      <Button class="btn" name="act" value="show" text={t("admin_model_body_show")} />
    </div>
  );
};

interface AmountsProps {
  /** The part of the entry, `price` or `routes.0.cost`. */
  of: string;
  names: string[];
  typed: ShownEntry;
  /** The built-in amounts. */
  base?: Record<string, number> | undefined;
  errors: Errors;
}

/** A field for each amount; a rule is changed as JSON. */
const Amounts = ({ of, names, typed, base, errors }: AmountsProps) => {
  const { t, unit } = useAround();
  return (
    <div class="pricing">
      {names.map((name) => {
        const isFactor = name.endsWith("_x");
        const isField = fieldNames.has(name);
        const label = isLabelled(name) ? t(`admin_price_${name}`) : name;
        const value = typed[name];
        const usual = base?.[name];
        if (value !== undefined && !isPlain(value))
          return (
            <div class="field">
              <span class="label">{label}</span>
              <p class="hint">{t("admin_model_as_json")}</p>
            </div>
          );
        return (
          <TextField
            name={`${of}.${name}`}
            label={label}
            opt={isFactor ? "×" : isField ? undefined : unit}
            inputmode={isField ? undefined : "decimal"}
            autocomplete="off"
            value={value}
            hint={usual === undefined ? undefined : t("admin_model_built_in_value", { value: isFactor ? usual : decimal(usual) })}
            error={errors(`${of}.${name}`)}
          />
        );
      })}
    </div>
  );
};

const Prices = ({ editor: { draft }, errors }: { editor: Editor; errors: Errors }) => {
  const { t } = useAround();
  const names = priceNames(draft.id, draft.entry);
  if (names.length === 0) return <p class="muted">{t("admin_model_price_later")}</p>;
  const base = builtIn(draft.id)?.price as Record<string, number> | undefined;
  return <Amounts of="price" names={names} typed={asObject(draft.entry["price"])} base={base} errors={errors} />;
};

/** What a route costs: closed, with its amounts in the summary. */
const RouteCost = ({ editor: { draft }, route, at, errors }: { editor: Editor; route: ShownEntry; at: number; errors: Errors }) => {
  const { t } = useAround();
  const of = `routes.${at}.cost`;
  const typed = asObject(route["cost"]);
  const names = costNames(draft.id, draft.entry, route);
  const shown = Object.entries(typed).map(([name, value]) => `${name} ${isPlain(value) ? value : "…"}`);
  const billed = route["bills_failures"] === true;
  return (
    <details class="about more" open={names.some((name) => errors(`${of}.${name}`) !== undefined)}>
      <summary>
        {t("admin_margin_cost")} <span class="meta">{shown.length > 0 ? shown.join(", ") : t("admin_route_cost_none")}</span>
      </summary>
      <Amounts of={of} names={names} typed={typed} errors={errors} />
      <CheckField name={`routes.${at}.bills_failures`} value="on" checked={billed} text={t("admin_route_bills")} />
    </details>
  );
};

const stateTones = { last: "warn", off: "", ended: "bad", beside: "" } as const;

/** A route's state; nothing while it is used in order. */
const RouteMark = ({ editor: { upstreams }, routes, route }: { editor: Editor; routes: readonly ShownRoute[]; route: ShownRoute }) => {
  const { t, language } = useAround();
  const state = routeState(upstreams, routes, route);
  if (state !== "used")
    return <Pill icon={state === "ended" ? "clock" : "ban"} tone={stateTones[state]} text={t(`admin_route_short_${state}`)} />;
  return route.retires === undefined ? null : <Pill icon="clock" tone="warn" text={dateText(language, Date.parse(route.retires))} />;
};

/** What a route has beside the fields of the form. */
const unseen = (route: ShownEntry) =>
  Object.keys(route).filter((name) => !["provider", "model", "retires", "cost", "bills_failures"].includes(name));

const text = (value: unknown) => (isPlain(value) ? String(value) : "");

/** A route as it is typed. */
const toShown = ({ provider, model, retires }: ShownEntry): ShownRoute => ({
  provider: text(provider),
  model: text(model),
  ...(Number.isFinite(Date.parse(`${text(retires)}T00:00:00Z`)) && { retires: text(retires) }),
});

const OwnRoute = ({ editor, routes, at, errors }: { editor: Editor; routes: ShownEntry[]; at: number; errors: Errors }) => {
  const { t } = useAround();
  const route = routes[at] ?? {};
  const [provider, model] = [text(route["provider"]), text(route["model"])];
  const names = editor.upstreams.providers.map(({ name }) => name);
  const options = [...new Set([...(provider === "" ? [""] : []), ...names, provider])].map((name) => ({ value: name, text: name || "–" }));
  const number = at + 1;
  return (
    <li>
      <span class="n">{number}</span>
      <SelectField
        name={`routes.${at}.provider`}
        label={t("admin_provider")}
        aria-label={t("admin_route_provider", { number })}
        options={options}
        value={provider}
        error={errors(`routes.${at}.provider`)}
      />
      <TextField
        name={`routes.${at}.model`}
        label={t("upstream_model")}
        aria-label={t("admin_route_model_of", { number })}
        value={model}
        autocomplete="off"
        spellcheck="false"
        error={errors(`routes.${at}.model`)}
      />
      <TextField
        name={`routes.${at}.retires`}
        type="date"
        label={t("admin_route_retires")}
        aria-label={t("admin_route_retires_of", { number })}
        value={text(route["retires"])}
        error={errors(`routes.${at}.retires`)}
      />
      <span class="row end">
        {at > 0 && (
          <Button class="btn ghost icon sm" name="act" value={`up.${at}`} aria-label={t("admin_route_up", { number })} icon="up" />
        )}
        <Button class="btn ghost icon sm" name="act" value={`remove.${at}`} aria-label={t("admin_route_remove", { number })} icon="x" />
      </span>
      <RouteCost editor={editor} route={route} at={at} errors={errors} />
      <span class="about row">
        {provider !== "" && <RouteMark editor={editor} routes={routes.map(toShown)} route={toShown(route)} />}
        {unseen(route).length > 0 && <span class="meta">{t("admin_route_also", { fields: unseen(route).join(", ") })}</span>}
      </span>
    </li>
  );
};

const Routes = ({ editor, errors }: { editor: Editor; errors: Errors }) => {
  const { t } = useAround();
  const { draft } = editor;
  const base = builtIn(draft.id);
  const routes = routesOf(draft.entry);
  if (base && draft.entry["routes"] === undefined)
    return (
      <>
        <ol class="card flush route-list">
          {base.routes.map((route, at) => (
            <li>
              <span class="n">{at + 1}</span>
              <span>
                <b>{route.provider}</b> <code class="id">{route.model}</code>
              </span>
              <RouteMark editor={editor} routes={base.routes} route={route} />
            </li>
          ))}
        </ol>
        <div class="row pt">
          <Button class="btn sm" name="act" value="own" icon="pen" text={t("admin_routes_own")} />
          <span class="meta">{t("admin_routes_built_in")}</span>
        </div>
      </>
    );
  return (
    <>
      <input type="hidden" name="routes" value="own" />
      <input type="hidden" name="route_count" value={routes.length} />
      {routes.length > 0 && (
        <ol class="card flush route-edit">
          {routes.map((_, at) => (
            <OwnRoute editor={editor} routes={routes} at={at} errors={errors} />
          ))}
        </ol>
      )}
      <div class="row pt">
        <Button class="btn sm" name="act" value="add" icon="plus" text={t("admin_route_add")} />
        {base && <Button class="btn ghost sm" name="act" value="built_in" text={t("admin_routes_use_built_in")} />}
        <span class="meta">{t("admin_routes_hint")}</span>
      </div>
    </>
  );
};

const Part = ({ title, id, children }: { title: string; id?: string; children?: Child }) => (
  <fieldset id={id} tabindex={id === undefined ? undefined : -1}>
    <legend>{title}</legend>
    {children}
  </fieldset>
);

/** Live or hidden. */
const State = ({ value }: { value: string }) => {
  const { t } = useAround();
  return (
    <div class="field" id="f-state">
      <span class="label" id="state-label">
        {t("state")}
      </span>
      <div class="seg full" role="radiogroup" aria-labelledby="state-label">
        {(["hidden", "live"] as const).map((state) => (
          <label>
            {t(`admin_models_${state}`)}
            <input type="radio" name="state" value={state} checked={value === state} />
          </label>
        ))}
      </div>
    </div>
  );
};

export const FormFields = ({ editor }: { editor: Editor }) => {
  const { t } = useAround();
  const { draft, verdict } = editor;
  const { entry, id, isNew } = draft;
  const base = builtIn(id);
  const problems: EntryProblem[] = verdict?.as === "refused" ? verdict.problems : [];
  const names = priceNames(id, entry);
  const errors: Errors = (name) => problems.find(({ param }) => toFieldName(param, names) === name)?.text;
  const plain = (name: string) => (isPlain(entry[name]) ? entry[name] : undefined);
  const aliases = Array.isArray(entry["aliases"]) ? entry["aliases"].join(", ") : "";
  return (
    <>
      <FieldProblems problems={problems.map(({ param, text }) => ({ field: toFieldName(param, names), label: param, text }))} />
      <Part title={t("admin_model_names")}>
        <div class="stack">
          <div class="halves">
            {isNew && !base && (
              <TextField
                name="id"
                label={t("id")}
                opt={t("admin_model_id_opt")}
                value={id}
                maxlength={64}
                autocomplete="off"
                spellcheck="false"
                error={errors("id")}
              />
            )}
            {!base && (
              <TextField
                name="aliases"
                label={t("other_names")}
                opt={t("optional")}
                value={aliases}
                autocomplete="off"
                spellcheck="false"
                error={errors("aliases")}
              />
            )}
            <TextField
              name="title"
              label={t("admin_model_title")}
              opt={t("optional")}
              value={plain("title")}
              maxlength={80}
              autocomplete="off"
              error={errors("title")}
            />
            <State value={typeof entry["state"] === "string" ? entry["state"] : (base?.state ?? "live")} />
          </div>
          {base && <p class="hint">{t("admin_model_built_in_hint")}</p>}
        </div>
      </Part>
      {!base && (
        <Part title={t("admin_model_body_title")}>
          <Body editor={editor} errors={errors} />
        </Part>
      )}
      <Part title={t("price")}>
        <Prices editor={editor} errors={errors} />
      </Part>
      <Part title={t("admin_model_times")}>
        <div class="halves">
          <TextField
            name="typical_seconds"
            label={t("usual_time")}
            opt={t("admin_model_seconds")}
            inputmode="numeric"
            autocomplete="off"
            value={plain("typical_seconds")}
            hint={base && t("admin_model_built_in_value", { value: base.typicalSeconds })}
            error={errors("typical_seconds")}
          />
          {likeModel(id, entry)?.family !== "chat" && (
            <TextField
              name="deadline_seconds"
              label={t("admin_model_deadline")}
              opt={t("admin_model_seconds")}
              inputmode="numeric"
              autocomplete="off"
              value={plain("deadline_seconds")}
              hint={t("admin_model_deadline_hint")}
              error={errors("deadline_seconds")}
            />
          )}
        </div>
      </Part>
      <Part title={t("admin_model_routes_title")} id="f-routes">
        <Routes editor={editor} errors={errors} />
      </Part>
    </>
  );
};
