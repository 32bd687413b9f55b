/** Changes of an API key: editing, pausing, rotation, deletion. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { type Context, Hono } from "hono";
import { changeKey, deleteKey, pauseKey, rotateKey, setExpiry } from "../../db/api-keys.ts";
import { readBalance } from "../ledger.ts";
import { decimal } from "../amounts.ts";
import { readForm } from "../forms.ts";
import { actor, page, nothingHere, notYourRole, withCatalog } from "../frame.tsx";
import { budgetLeft, changeBudget } from "./budget.tsx";
import { send } from "./first-call.tsx";
import { KeyFields, KeyProblem, readKey } from "./form.tsx";
import { type Key, readAccountKeys } from "./account-keys.ts";
import { shownOnce } from "./shared.tsx";
import { Button, CheckField, DateTime, Facts, type FieldProblem, lengthText, Link, Question } from "../parts/index.ts";
import { dayMs, hourMs } from "../../base/times.ts";

/** How long a rotated key may keep working, in milliseconds. */
const overlaps = { now: 0, hour: hourMs, day: dayMs, week: 7 * dayMs } as const;
type Overlap = keyof typeof overlaps;

const back = "/console/keys";

async function changePage(c: ConsoleContext, key: Key, problem?: FieldProblem, typed?: (name: string) => string) {
  const { quota, budget } = await readBalance(c, key.accountId, key.walletId);
  return page(
    c,
    c.var.t("change_key", { name: key.name }),
    <form method="post" class="stack narrow">
      <KeyProblem problem={problem} />
      {budget && (
        <Facts
          of={[
            [c.var.t("budget"), budgetLeft(c, budget)],
            [c.var.t("budget_renews"), <DateTime ms={budget.until} />],
          ]}
        />
      )}
      <KeyFields
        c={c}
        name={key.name}
        quota={quota === null ? "" : decimal(quota)}
        budget={budget}
        scope={key.scope}
        expiresAt={key.isReplaced ? undefined : key.expiresAt}
        typed={typed}
        problem={problem}
      />
      <p class="row">
        <Button class="btn primary" text={c.var.t("change")} />
        <Link class="btn" href={back} text={c.var.t("cancel")} />
      </p>
    </form>,
    problem === undefined ? 200 : 400,
    { width: "slim" },
  );
}

async function change(c: ConsoleContext, key: Key) {
  const field = await readForm(c);
  const read = readKey(c, field, key.expiresAt);
  if ("problem" in read) return changePage(c, key, read.problem, field);
  const { given } = read;
  if ((await c.env.API.changeQuota(key.accountId, key.walletId, { quota: given.quota }, actor(c))) === "below_use")
    return changePage(c, key, { field: "quota", text: c.var.t("quota_below_use") }, field);
  await changeBudget(c, key.accountId, key.walletId, given.budget);
  await changeKey(c.env.DB, c.env.API, actor(c), key, given.name, given.scope);
  if (!key.isReplaced && given.expiresAt !== key.expiresAt) await setExpiry(c.env.DB, c.env.API, actor(c), key, given.expiresAt);
  return c.redirect("/console/keys?done=changed", 303);
}

function rotatePage(c: ConsoleContext, key: Key, problem?: string) {
  const { t, language } = c.var;
  return page(
    c,
    t("rotate_key", { name: key.name }),
    <Question text={t("rotate_note")} yes={t("rotate")} back={back} isHarmless problem={problem}>
      <fieldset class="field">
        <legend>{t("overlap", { prefix: `${key.prefix}…` })}</legend>
        <div>
          {(Object.keys(overlaps) as Overlap[]).map((overlap) => (
            <CheckField
              type="radio"
              name="overlap"
              value={overlap}
              checked={overlap === "day"}
              text={overlap === "now" ? t("overlap_now") : lengthText(language, overlaps[overlap])}
            />
          ))}
        </div>
      </fieldset>
    </Question>,
    problem === undefined ? 200 : 400,
    { width: "slim" },
  );
}

async function rotate(c: ConsoleContext, key: Key) {
  const overlap = (await readForm(c))("overlap");
  if (!Object.hasOwn(overlaps, overlap)) return rotatePage(c, key, c.var.t("bad_overlap"));
  const made = await rotateKey(c.env.DB, c.env.API, actor(c), key, overlaps[overlap as Overlap]);
  if (made === undefined) return rotatePage(c, key, c.var.t("not_rotatable"));
  // The prefix tells it from the keys that other requests made meanwhile.
  const created = (await readAccountKeys(c)).find(({ prefix }) => made.startsWith(prefix)) ?? key;
  return shownOnce(c, created, made);
}

const pause = (isPaused: boolean) => async (c: ConsoleContext, key: Key) => {
  await pauseKey(c.env.DB, c.env.API, actor(c), key, isPaused);
  return c.redirect(`/console/keys?done=${isPaused ? "paused" : "resumed"}`, 303);
};

function deletePage(c: ConsoleContext, key: Key) {
  const { t } = c.var;
  return page(
    c,
    t("delete_key", { name: key.name }),
    <Question text={t("delete_warning")} yes={t("delete")} back={back}>
      <p>
        <code>{key.prefix}…</code>
      </p>
    </Question>,
    200,
    { width: "slim" },
  );
}

/** A page about a key of the account: 404 for another account's key. An admin does not act with or on an owner's key. */
const ofKey = (answer: (c: ConsoleContext, key: Key) => Response | Promise<Response>) => async (c: Context<ConsoleEnvironment>) => {
  const key = (await readAccountKeys(c)).find(({ id }) => id === c.req.param("id"));
  if (!key) return nothingHere(c);
  return key.isManaged ? answer(c, key) : notYourRole(c);
};

/** Mounted after the list's router, which admits only signed-in users. */
export const keyChanges = new Hono<ConsoleEnvironment>()
  .use(withCatalog)
  .get("/:id/change", ofKey(changePage))
  .post("/:id/change", ofKey(change))
  .get("/:id/rotate", ofKey(rotatePage))
  .post("/:id/rotate", ofKey(rotate))
  .post("/:id/pause", ofKey(pause(true)))
  .post("/:id/resume", ofKey(pause(false)))
  .post("/:id/send", ofKey(send))
  .get("/:id/delete", ofKey(deletePage))
  .post(
    "/:id/delete",
    ofKey(async (c, key) => {
      await deleteKey(c.env.DB, c.env.API, actor(c), key);
      return c.redirect("/console/keys?done=deleted", 303);
    }),
  );
