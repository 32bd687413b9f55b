/** The frame of one model's pages: its name and state, and the tabs of its views. */

import type { Child } from "hono/jsx";
import type { ConsoleContext } from "../../context.ts";
import { page } from "../../frame.tsx";
import { Button, DateTime, Link, Pill } from "../../parts/index.ts";
import type { Arrangement } from "../../shell/layout.tsx";
import type { Revision } from "./changes.ts";
import { builtIn } from "./draft.ts";
import { makerPath, path, pathOf } from "./state.ts";
import type { PageStatus } from "../../page-status.ts";

export type Tab = "form" | "json" | "maker" | "margin" | "revisions";

interface ModelHead {
  /** Empty for a model that is being added. */
  id: string;
  tab: Tab;
  revisions: Revision[];
  /** True if the page has the form `entry`: the other view of the entry gets what was typed. */
  hasDraft?: boolean;
  actions?: Child;
}

/** The path of a view. */
export const viewPath = (id: string, tab: Tab): string => {
  if (tab === "maker") return makerPath;
  const base = id === "" ? `${path}/_new` : pathOf(id);
  return tab === "form" ? base : `${base}/${tab}`;
};

const Tabs = ({ c, id, tab, hasDraft }: ModelHead & { c: ConsoleContext }) => {
  const { t } = c.var;
  const names = {
    maker: t("admin_maker_add"),
    form: t("admin_model_form"),
    json: "JSON",
    margin: t("admin_margin"),
    revisions: t("admin_model_revisions"),
  };
  const tabs: Tab[] = id === "" ? ["form", "json", "maker"] : ["form", "json", "margin", "revisions"];
  return (
    <nav class="tabs under" aria-label={t("model")}>
      {tabs.map((name) =>
        hasDraft && (name === "form" || name === "json") ? (
          <Button
            form="entry"
            formaction={viewPath(id, name)}
            name="act"
            value="show"
            aria-current={name === tab ? "page" : undefined}
            text={names[name]}
          />
        ) : (
          <a href={viewPath(id, name)} aria-current={name === tab ? "page" : undefined}>
            {names[name]}
          </a>
        ),
      )}
    </nav>
  );
};

const Lead = ({ c, revisions: [newest], id }: ModelHead & { c: ConsoleContext }) => {
  const { t } = c.var;
  return (
    <span class="row">
      <Link class="back" href={path} icon="left" text={t("models")} />
      {newest ? (
        <span class="meta">
          {t("admin_model_revision", { revision: newest.revision })}, <DateTime ms={newest.at} />
        </span>
      ) : (
        id !== "" && builtIn(id) && <span class="meta">{t("admin_model_no_entry")}</span>
      )}
      {newest?.removed === 1 && !builtIn(id) && <Pill icon="ban" text={t("admin_models_removed")} />}
      {newest?.removed === 0 && newest.entry["state"] === "hidden" && <Pill icon="ban" text={t("admin_models_hidden")} />}
    </span>
  );
};

export const modelPage = (c: ConsoleContext, head: ModelHead, children: Child, status: PageStatus = 200, more: Arrangement = {}) =>
  page(
    c,
    head.id === "" ? c.var.t("add_model") : head.id,
    <>
      {head.hasDraft && (
        // The first button of a form is the one that Enter presses: not a tab.
        <button form="entry" name="act" value="check" class="vh" tabindex={-1} aria-hidden="true" />
      )}
      <Tabs c={c} {...head} />
      {children}
    </>,
    status,
    { lead: <Lead c={c} {...head} />, ...(head.actions !== undefined && { actions: head.actions }), ...more },
  );
