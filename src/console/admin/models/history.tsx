/** The revisions of a model, with what each changed, and the way back to an earlier one. */

import type { ConsoleContext } from "../../context.ts";
import { readForm } from "../../forms.ts";
import { maxRevisions } from "../../../db/models.ts";
import { nothingHere } from "../../frame.tsx";
import { DateTime, Icon, Pill, Refused } from "../../parts/index.ts";
import { entryOf, readRevisions, type Revision, rollBack, type Verdict } from "./changes.ts";
import { builtIn } from "./draft.ts";
import { diffEntries } from "./entry-text.ts";
import { modelPage } from "./model-page.tsx";
import { ChangedFields, Diff } from "./rail.tsx";
import { pathOf } from "./state.ts";

const Row = ({ c, revisions, at }: { c: ConsoleContext; revisions: Revision[]; at: number }) => {
  const { t } = c.var;
  const [newest] = revisions;
  const revision = revisions[at];
  if (!newest || !revision) return null;
  const earlier = revisions.slice(at + 1);
  const lines = diffEntries(entryOf(earlier), revision.removed === 1 ? {} : revision.entry);
  return (
    <li>
      <div class="row">
        <b>{t("admin_model_revision", { revision: revision.revision })}</b>
        <span class="meta">
          <DateTime ms={revision.at} />
        </span>
        {at === 0 && <span class="meta">{t("admin_model_newest")}</span>}
        {revision.removed === 1 && <Pill icon="bin" text={t("admin_models_removed")} />}
        {at > 0 && (
          <form method="post" class="push">
            <input type="hidden" name="base" value={newest.revision} />
            <button class="btn sm" name="to" value={revision.revision}>
              <Icon name="again" />
              {t("admin_model_roll_back")}
              <span class="vh"> {t("admin_model_roll_back_to", { revision: revision.revision })}</span>
            </button>
          </form>
        )}
      </div>
      <div class="t13">
        <ChangedFields earlier={earlier} revision={revision} max={4} />
      </div>
      {lines.length > 0 && (
        <details class="more">
          <summary>{t("admin_model_changes")}</summary>
          <Diff lines={lines} label={t("admin_model_diff_of", { revision: revision.revision })} />
        </details>
      )}
    </li>
  );
};

/** Why a roll-back did not happen. */
const Refusal = ({ c, verdict, to }: { c: ConsoleContext; verdict: Exclude<Verdict, { as: "good" }>; to: number }) => {
  const { t } = c.var;
  return (
    <Refused isApart>
      <div>
        {verdict.as === "conflict" ? (
          t("admin_model_moved_on", { revision: verdict.revision })
        ) : (
          <>
            {t("admin_model_roll_back_refused", { revision: to })}
            <ul>
              {verdict.problems.map(({ param, text }) => (
                <li>
                  <code>{param}</code> {text}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </Refused>
  );
};

async function history(c: ConsoleContext, id: string, refused?: { verdict: Exclude<Verdict, { as: "good" }>; to: number }) {
  const { t } = c.var;
  const revisions = await readRevisions(c, id);
  if (revisions.length === 0 && !builtIn(id)) return nothingHere(c);
  return modelPage(
    c,
    { id, tab: "revisions", revisions },
    <>
      {refused && <Refusal c={c} {...refused} />}
      {revisions.length === 0 ? (
        <p class="muted">{t("admin_model_no_revisions")}</p>
      ) : (
        <ol class="card flush revisions">
          {revisions.map((_, at) => (
            <Row c={c} revisions={revisions} at={at} />
          ))}
        </ol>
      )}
      <p class="meta pt">{t("admin_model_kept", { count: maxRevisions })}</p>
    </>,
    refused ? (refused.verdict.as === "conflict" ? 409 : 400) : 200,
  );
}

export const showHistory = (c: ConsoleContext) => history(c, c.req.param("id") ?? "");

export async function rollBackModel(c: ConsoleContext) {
  const id = c.req.param("id") ?? "";
  const field = await readForm(c);
  const to = Number(field("to")) || 0;
  const verdict = await rollBack(c, id, to, Number(field("base")) || 0);
  if (verdict.as !== "good") return history(c, id, { verdict, to });
  return c.redirect(`${pathOf(id)}?saved=${verdict.revision}`, 303);
}
