/** `/console/admin/models`: what is sold, and each model's entry as a form and as JSON, with its check, changes and revisions. */

import type { ConsoleContext, ConsoleEnvironment } from "../../context.ts";
import { readForm } from "../../forms.ts";
import { Hono } from "hono";
import { schemaMakers } from "../../../base/words.ts";
import { readCatalog } from "../../../current-catalog.ts";
import { nothingHere } from "../../frame.tsx";
import { Button, Link, Note, Question, Refused } from "../../parts/index.ts";
import { adminPage } from "../frame.tsx";
import {
  checkDraft,
  draftFromMaker,
  entryOf,
  type MakerModel,
  readRevisions,
  removeEntry,
  type Revision,
  saveDraft,
  type Verdict,
} from "./changes.ts";
import { builtIn, changeRoutes, type Draft, priceNames, readDraft, routesOf, toDraft } from "./draft.ts";
import type { ShownEntry } from "./entry-text.ts";
import { FormFields, toFieldName } from "./form.tsx";
import { rollBackModel, showHistory } from "./history.tsx";
import { JsonField, linkToLine } from "./json.tsx";
import { listModels } from "./list.tsx";
import { makerPage } from "./maker.tsx";
import { showMargin } from "./margin.tsx";
import { modelPage, viewPath } from "./model-page.tsx";
import { Rail } from "./rail.tsx";
import { type Editor, path, pathOf } from "./state.ts";
import { readUpstreams } from "../upstreams.ts";

type View = "form" | "json";

/** The model in the path; undefined for one that is being added. No model's name begins with an underscore. */
const idOf = (c: ConsoleContext): string | undefined => (c.req.param("id") === "_new" ? undefined : c.req.param("id"));

/** The entry of a model that is removed, to be sold again, or that it has. */
const newestEntry = (revisions: Revision[]): ShownEntry => revisions[0]?.entry ?? {};

/** What another admin changed stays, unless the draft changes the same field. */
function mergeOver(base: ShownEntry, theirs: ShownEntry, mine: ShownEntry): ShownEntry {
  const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
  const names = [...new Set([...Object.keys(theirs), ...Object.keys(mine)])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = isSame(mine[name], base[name]) ? theirs[name] : mine[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** The draft on top of the newest revision. */
function rebase(draft: Draft, revisions: Revision[]): Draft {
  const at = revisions.findIndex(({ revision }) => revision === draft.revision);
  const base = at < 0 ? {} : entryOf(revisions.slice(at));
  return toDraft(draft.id, mergeOver(base, entryOf(revisions), draft.entry), revisions[0]?.revision ?? 0);
}

const Conflict = ({ c, id, verdict }: { c: ConsoleContext; id: string; verdict: Extract<Verdict, { as: "conflict" }> }) => {
  const { t } = c.var;
  return (
    <Refused isApart>
      <div>
        <b>{t("admin_model_conflict", { revision: verdict.revision })}</b>
        <ul>
          {verdict.changes.map(({ param, text }) => (
            <li>
              <code>{param}</code> {text}
            </li>
          ))}
        </ul>
        {t("admin_model_conflict_hint")} <a href={pathOf(id)}>{t("admin_model_discard")}</a>
      </div>
    </Refused>
  );
};

/** What will happen, beside the two buttons. */
const Act = ({ c, editor: { draft, live, verdict } }: { c: ConsoleContext; editor: Editor }) => {
  const { t } = c.var;
  const isRefused = verdict?.as === "refused" || draft.syntax !== undefined;
  const sells = (draft.entry["state"] ?? builtIn(draft.id)?.state) !== "hidden" && live?.state !== "live";
  const words = draft.revision > 0 ? t("admin_model_keeps", { revision: draft.revision }) : t("admin_model_not_saved");
  return (
    <div class="act">
      <span class="meta">{isRefused ? words : t("admin_model_live_soon")}</span>
      <span class="push row">
        <Button class="btn" name="act" value="check" icon="check" text={t("admin_model_check")} />
        <Button class="btn primary" name="act" value="save" text={t(sells ? "admin_model_sell" : "save")} />
      </span>
    </div>
  );
};

const Actions = ({ c, editor: { draft, live, revisions } }: { c: ConsoleContext; editor: Editor }) => {
  const { t } = c.var;
  return (
    <>
      {revisions[0]?.removed === 0 && <Link class="btn ghost" href={`${pathOf(draft.id)}/remove`} text={t("remove")} />}
      {makerOf(draft) && <Button class="btn" form="entry" name="act" value="fetch" icon="down" text={t("admin_maker_again")} />}
      {live?.state === "live" && (
        <Link class="btn" href={`/console/playground?model=${encodeURIComponent(draft.id)}`} icon="wand" text={t("try_it")} />
      )}
    </>
  );
};

/** One model's page with a draft of its entry. */
async function editorPage(c: ConsoleContext, view: View, draft: Draft, revisions: Revision[], verdict?: Verdict) {
  const { t } = c.var;
  const [upstreams, catalog] = await Promise.all([readUpstreams(c), readCatalog(c.env.DB)]);
  const live = draft.isNew ? undefined : catalog.all.find(({ id, state }) => id === draft.id && state !== "removed");
  const editor: Editor = { draft, revisions, upstreams, live, verdict };
  const id = draft.isNew ? "" : draft.id;
  const names = priceNames(draft.id, draft.entry);
  const links = (param: string) =>
    param === "" ? undefined : view === "json" ? linkToLine(editor, param) : `#f-${toFieldName(param, names)}`;
  const saved = Number(c.req.query("saved")) || undefined;
  const isBad = c.req.method === "POST" && (verdict?.as === "refused" || draft.syntax !== undefined);
  return modelPage(
    c,
    { id, tab: view, revisions, hasDraft: true, actions: <Actions c={c} editor={editor} /> },
    <div class="edit">
      <form method="post" id="entry" action={viewPath(id, view)}>
        {verdict?.as === "conflict" && <Conflict c={c} id={draft.id} verdict={verdict} />}
        {revisions[0]?.removed === 1 && !builtIn(draft.id) && verdict === undefined && (
          <div class="made">
            <Note tone="warn">{t("admin_model_is_removed")}</Note>
          </div>
        )}
        <input type="hidden" name="view" value={view} />
        <input type="hidden" name="revision" value={draft.revision} />
        <input type="hidden" name="entry" value={JSON.stringify(draft.entry)} />
        {view === "form" ? <FormFields editor={editor} /> : <JsonField editor={editor} />}
        <Act c={c} editor={editor} />
      </form>
      <Rail editor={editor} links={links} />
    </div>,
    isBad ? 400 : verdict?.as === "conflict" ? 409 : 200,
    { toast: saved === undefined ? undefined : t("admin_model_saved", { revision: saved }) },
  );
}

const show = (view: View) => async (c: ConsoleContext) => {
  const id = idOf(c);
  if (id === undefined) return editorPage(c, view, toDraft("", {}, 0, true), []);
  const revisions = await readRevisions(c, id);
  if (revisions.length === 0 && !builtIn(id)) return nothingHere(c);
  // A built-in model whose entry was removed is as built in; another removed model is shown as it was.
  const entry = builtIn(id) ? entryOf(revisions) : newestEntry(revisions);
  const draft = toDraft(id, entry, revisions[0]?.revision ?? 0);
  // An entry that this release refuses is shown with what is wrong.
  const isRefused = (await readUpstreams(c)).refused?.[id] !== undefined;
  return editorPage(c, view, draft, revisions, isRefused ? await checkDraft(c, draft) : undefined);
};

/** A form of either view: shows the draft in this view, checks it, or saves it. */
const submit = (view: View) => async (c: ConsoleContext) => {
  const { t } = c.var;
  const id = idOf(c);
  const field = await readForm(c);
  const draft = readDraft(field, id);
  const act = field("act");
  const revisions = id === undefined ? [] : await readRevisions(c, id);
  if (id !== undefined && revisions.length === 0 && !builtIn(id)) return nothingHere(c);
  if (draft.syntax) return editorPage(c, "json", draft, revisions);
  if (act === "fetch") return fetchAgain(c, view, draft, revisions);
  if (act !== "check" && act !== "save") {
    const changed = act === "tidy" ? toDraft(draft.id, draft.entry, draft.revision, draft.isNew) : changeRoutes(draft, act);
    return editorPage(c, view, changed ?? draft, revisions);
  }
  if (draft.id === "")
    return editorPage(c, view, draft, revisions, { as: "refused", problems: [{ param: "id", text: t("admin_model_id_missing") }] });
  const verdict = await (act === "save" ? saveDraft : checkDraft)(c, draft);
  if (verdict.as === "good" && act === "save") return c.redirect(`${viewPath(draft.id, view)}?saved=${verdict.revision}`, 303);
  if (verdict.as !== "conflict") return editorPage(c, view, draft, revisions, verdict);
  const newest = await readRevisions(c, draft.id);
  return editorPage(c, view, rebase(draft, newest), newest, verdict);
};

/** Begins a model with a maker's schema: opens it in the editor, as JSON, and stores nothing. */
async function addFromMaker(c: ConsoleContext) {
  if (c.req.method !== "POST") return makerPage(c, { maker: schemaMakers[0], model: "" });
  const field = await readForm(c);
  const asked = { maker: field("maker"), model: field("model") };
  const found = await draftFromMaker(c, asked);
  return "problems" in found ? makerPage(c, asked, found.problems) : editorPage(c, "json", toDraft(found.id, found.entry, 0, true), []);
}

/** The first route of a draft with an own input whose maker publishes schemas. */
const makerOf = ({ entry }: Draft): MakerModel | undefined => {
  if (typeof entry["body"] !== "object") return undefined;
  const route = routesOf(entry).find(({ provider }) => schemaMakers.some((maker) => maker === provider));
  return route && { maker: String(route["provider"]), model: String(route["model"]) };
};

/** Fetches the schema again into the draft: what its maker changed is beside it. */
async function fetchAgain(c: ConsoleContext, view: View, draft: Draft, revisions: Revision[]) {
  const asked = makerOf(draft);
  const found = asked && (await draftFromMaker(c, asked));
  if (!found) return editorPage(c, view, draft, revisions);
  if ("problems" in found)
    return editorPage(c, view, draft, revisions, {
      as: "refused",
      problems: found.problems.map(({ text }) => ({ param: "body", text: `${asked.maker}: ${text}` })),
    });
  return editorPage(c, view, toDraft(draft.id, { ...draft.entry, body: found.entry["body"] }, draft.revision, draft.isNew), revisions);
}

async function remove(c: ConsoleContext) {
  const { t } = c.var;
  const id = c.req.param("id") ?? "";
  const [newest] = await readRevisions(c, id);
  if (newest?.removed !== 0) return nothingHere(c);
  const ask = (base: number, problem?: string) =>
    adminPage(
      c,
      t("admin_model_remove_ask", { model: id }),
      <Question
        text={t(builtIn(id) ? "admin_model_remove_built_in" : "admin_model_remove_own")}
        yes={t("remove")}
        back={pathOf(id)}
        problem={problem}
      >
        <input type="hidden" name="base" value={base} />
      </Question>,
      problem === undefined ? 200 : 409,
    );
  if (c.req.method !== "POST") return ask(newest.revision);
  const verdict = await removeEntry(c, id, Number((await readForm(c))("base")) || 0);
  if (verdict.as === "good") return c.redirect(`${path}?removed=${encodeURIComponent(id)}`, 303);
  if (verdict.as === "conflict") return ask(verdict.revision, t("admin_model_moved_on", { revision: verdict.revision }));
  return ask(newest.revision, verdict.problems.map(({ text }) => text).join(" "));
}

export const models = new Hono<ConsoleEnvironment>()
  .get("/", listModels)
  .on(["GET", "POST"], "/_maker", addFromMaker)
  .get("/:id", show("form"))
  .post("/:id", submit("form"))
  .get("/:id/json", show("json"))
  .post("/:id/json", submit("json"))
  .get("/:id/margin", showMargin)
  .get("/:id/revisions", showHistory)
  .post("/:id/revisions", rollBackModel)
  .on(["GET", "POST"], "/:id/remove", remove);
