/** Beside an entry: whether it can be saved, what changes, what is earned, and what was before. */

import type { Child } from "hono/jsx";
import { isPriced } from "../../../catalog/catalog.ts";
import { shownRule } from "../../../catalog/own-price.ts";
import { shownPrice } from "../../../catalog/prices.ts";
import { dateText, DateTime, Icon, Link, Pill, useAround } from "../../parts/index.ts";
import { readHealth, soonMs } from "../route-state.ts";
import { entryOf, type Revision } from "./changes.ts";
import { builtIn } from "./draft.ts";
import { Earned, type Sold } from "./earned.tsx";
import { diffEntries, type DiffLine, listChanges } from "./entry-text.ts";
import { type Editor, pathOf } from "./state.ts";

const signs = { same: " ", added: "+", removed: "-", gap: " " } as const;

/** The changed lines of an entry. */
export const Diff = ({ lines, label }: { lines: DiffLine[]; label: string }) => (
  <div class="diff" tabindex={0} role="region" aria-label={label}>
    {lines.map(({ kind, text }) => {
      const line = `${signs[kind]} ${text}`;
      if (kind === "added") return <ins>{line}</ins>;
      return kind === "removed" ? <del>{line}</del> : <span>{line}</span>;
    })}
  </div>
);

/** The fields that a revision changed, shortly. */
export const ChangedFields = ({ earlier, revision, max }: { earlier: Revision[]; revision: Revision; max: number }) => {
  const { t } = useAround();
  const before = entryOf(earlier);
  if (earlier.length === 0 && !builtIn(revision.id)) return <>{t("admin_model_was_added")}</>;
  if (revision.removed === 1) return <>{t("admin_model_was_removed")}</>;
  const changes = listChanges(before, revision.entry);
  if (changes.length === 0) return <>{t("admin_model_no_changes")}</>;
  return (
    <>
      {changes.slice(0, max).map(({ field, was, is }) => (
        <div class="clip">
          <code>{field}</code> {was !== undefined && <span class="meta">{was} → </span>}
          {is ?? (was === undefined ? t("admin_model_reordered") : "–")}
        </div>
      ))}
      {changes.length > max && <span class="meta">{t("admin_model_more_changes", { count: changes.length - max })}</span>}
    </>
  );
};

const tones = { good: ["ok", "ok"], bad: ["bad", "no"], warn: ["warn", "hm"] } as const;

const Check = ({ tone, text, children }: { tone: keyof typeof tones; text: Child; children?: Child }) => {
  const [icon, name] = tones[tone];
  return (
    <li>
      <span class={name}>
        <Icon name={icon} />
      </span>
      <div>
        {text}
        {children !== undefined && <p>{children}</p>}
      </div>
    </li>
  );
};

/** What is known of the routes of the draft: which are used, and which end. */
const RouteChecks = ({ editor: { upstreams, verdict, live } }: { editor: Editor }) => {
  const { t, language } = useAround();
  const checked = verdict?.as === "good" ? verdict.model : undefined;
  const routes = checked?.routes ?? live?.routes ?? [];
  if (routes.length === 0) return null;
  const health = readHealth(upstreams, routes);
  const names = health.routes.filter(({ state }) => state === "used" || state === "last").map(({ route }) => route.provider);
  const ends = health.routes.flatMap(({ route, state }, at) =>
    route.retires !== undefined && (state === "ended" || Date.parse(route.retires) < Date.now() + soonMs) ? [{ route, state, at }] : [],
  );
  return (
    <>
      <Check tone={names.length > 0 ? "good" : "warn"} text={t("admin_model_routes_on", { on: names.length, of: routes.length })}>
        {names.length > 0 ? [...new Set(names)].join(", ") : t("admin_model_unserved_hint")}
      </Check>
      {ends.map(({ route, state, at }) => (
        <Check
          tone="warn"
          text={t(state === "ended" ? "admin_model_route_over" : "admin_model_route_until", {
            number: at + 1,
            day: dateText(language, Date.parse(route.retires!)),
          })}
        >
          {route.provider} {route.model}
        </Check>
      ))}
    </>
  );
};

const DryRun = ({ editor, links }: { editor: Editor; links: (param: string) => string | undefined }) => {
  const { t } = useAround();
  const { verdict, draft } = editor;
  const problems = verdict?.as === "refused" ? verdict.problems : [];
  const count = problems.length + (draft.syntax ? 1 : 0);
  return (
    <section class="card">
      <header>
        <h2>{t("admin_model_check")}</h2>
        <span class="push">
          {count > 0 && <Pill icon="bad" tone="bad" text={t("admin_model_to_fix", { count })} />}
          {verdict?.as === "good" && <Pill icon="ok" tone="good" text={t("admin_model_can_save")} />}
          {verdict?.as === "conflict" && <Pill icon="warn" tone="warn" text={t("admin_model_conflict_pill")} />}
        </span>
      </header>
      <ul class="checks">
        {draft.syntax && <Check tone="bad" text={t("admin_model_no_json", { line: draft.syntax.line })} />}
        {problems.map(({ param, text }) => {
          const to = links(param);
          return (
            <Check tone="bad" text={to ? <a href={to}>{param}</a> : param}>
              {text}
            </Check>
          );
        })}
        {verdict?.as === "good" && <Check tone="good" text={t("admin_model_valid")} />}
        {count === 0 && <RouteChecks editor={editor} />}
        {verdict === undefined && !draft.syntax && !editor.live && <li class="meta">{t("admin_model_not_checked")}</li>}
      </ul>
    </section>
  );
};

const Changes = ({ editor: { draft, revisions } }: { editor: Editor }) => {
  const { t } = useAround();
  const lines = diffEntries(entryOf(revisions), draft.entry);
  const [newest] = revisions;
  return (
    <section class="card flush">
      <header class="sub padded">
        <h2>{t("admin_model_changes")}</h2>
        {newest && <span class="meta push">{t("admin_model_from", { revision: newest.revision })}</span>}
      </header>
      {lines.length === 0 ? (
        <p class="muted padded t13">{t(newest || !builtIn(draft.id) ? "admin_model_nothing" : "admin_model_as_built_in")}</p>
      ) : (
        <Diff lines={lines} label={t("admin_model_changes")} />
      )}
    </section>
  );
};

/** What the draft would sell if it was checked, else what is sold. */
function toSold({ verdict, live }: Editor): Sold | undefined {
  const checked = verdict?.as === "good" ? verdict.model : undefined;
  if (checked) return { price: checked.price as Sold["price"], isOwn: checked.like === undefined, routes: checked.routes };
  if (!live || !isPriced(live)) return undefined;
  return { price: live.own ? shownRule(live.own.price) : shownPrice(live.price), isOwn: live.own !== undefined, routes: live.routes };
}

const shownRevisions = 3;

const Revisions = ({ editor: { draft, revisions } }: { editor: Editor }) => {
  const { t } = useAround();
  if (revisions.length === 0) return null;
  return (
    <section class="card">
      <header>
        <h2>{t("admin_model_revisions")}</h2>
        <Link class="push t13" href={`${pathOf(draft.id)}/revisions`} text={t("admin_model_all_revisions", { count: revisions.length })} />
      </header>
      <ol class="time">
        {revisions.slice(0, shownRevisions).map((revision, at) => (
          <li data-s={revision.removed === 1 ? "bad" : "good"}>
            <span>
              <ChangedFields earlier={revisions.slice(at + 1)} revision={revision} max={2} />
            </span>
            <span class="meta num">
              <DateTime ms={revision.at} />
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
};

/** `links` returns the place of a field on the page. */
export const Rail = ({ editor, links }: { editor: Editor; links: (param: string) => string | undefined }) => {
  const sold = toSold(editor);
  return (
    <aside aria-label={useAround().t("admin_model_rail")}>
      <DryRun editor={editor} links={links} />
      <Changes editor={editor} />
      {sold && <Earned sold={sold} upstreams={editor.upstreams} />}
      <Revisions editor={editor} />
    </aside>
  );
};
