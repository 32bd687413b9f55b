/** Checks and changes of models: calls of the gateway's `/admin/models`, which owns every rule. */

import { listRevisions, type ModelRow } from "../../../db/models.ts";
import { log } from "../../../base/log.ts";
import { readError, readModelDraft, readModelEntry, type SoldModel } from "../../answers.ts";
import type { ConsoleContext } from "../../context.ts";
import { actor } from "../../frame.tsx";
import type { Draft } from "./draft.ts";
import type { ShownEntry } from "./entry-text.ts";

/** A violated rule: the field's path, and the rule in the page's language. */
export interface EntryProblem {
  param: string;
  text: string;
}

/** What the gateway says of an entry. */
export type Verdict =
  /** It can be saved, or was; `model` is the model with it. */
  | { as: "good"; model: SoldModel | null; revision: number }
  | { as: "refused"; problems: EntryProblem[] }
  /** Another admin saved `revision` meanwhile, with these changes. */
  | { as: "conflict"; revision: number; changes: EntryProblem[] };

/** A revision with its entry; `entry` is what it removed if it removed the model's entry. */
export interface Revision extends Omit<ModelRow, "entry"> {
  entry: ShownEntry;
}

/** The revisions of a model that are kept, newest first. */
export async function readRevisions(c: ConsoleContext, id: string): Promise<Revision[]> {
  const rows = await listRevisions(c.env.DB, id);
  return rows.map((row) => ({ ...row, entry: JSON.parse(row.entry) as ShownEntry }));
}

/** The entry that a model has: that of its newest revision, and an empty one if it has none. */
export const entryOf = ([newest]: Revision[]): ShownEntry => (newest && newest.removed === 0 ? newest.entry : {});

const pathOf = (id: string) => `/admin/models/${encodeURIComponent(id)}`;

/** Calls the gateway for the admin; `outcome` is the log's word for a change. */
async function ask(
  c: ConsoleContext,
  id: string,
  path: string,
  method: string,
  body: object | undefined,
  outcome?: string,
): Promise<Verdict> {
  const headers = { "accept-language": c.get("language"), "content-type": "application/json" };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const answer = await c.env.API.askAsOperator(new Request(new URL(path, c.req.url), init), actor(c));
  if (answer.ok) {
    const { model, revision } = answer.status === 204 ? { model: null, revision: 0 } : await readModelEntry(answer);
    if (outcome !== undefined) log("admin", { by: c.get("account").id, model: id, revision, outcome });
    return { as: "good", model, revision };
  }
  const { code, message, details = [] } = await readError(answer);
  const problems = details.map(({ param, message: text }) => ({ param, text }));
  if (code !== "conflict") return { as: "refused", problems: problems.length > 0 ? problems : [{ param: "", text: message }] };
  const [newest] = details;
  const [revision] = Array.isArray(newest?.allowed) ? (newest.allowed as unknown[]) : [];
  return { as: "conflict", revision: Number(revision) || 0, changes: problems.slice(1) };
}

/** Checks an entry, without storing it, against the newest revision. */
export const checkDraft = (c: ConsoleContext, { id, entry, revision }: Draft): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?dry_run=true&revision=${revision}`, "PUT", entry);

export const saveDraft = (c: ConsoleContext, { id, entry, revision }: Draft): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?revision=${revision}`, "PUT", entry, "model_changed");

/** Makes an earlier revision the newest one again, if `base` is the newest. */
export const rollBack = (c: ConsoleContext, id: string, to: number, base: number): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}/rollback?revision=${base}`, "POST", { revision: to }, "model_rolled_back");

export const removeEntry = (c: ConsoleContext, id: string, base: number): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?revision=${base}`, "DELETE", undefined, "model_removed");

/** A maker's id of a model, and what it asks for beside it. */
export interface MakerModel {
  maker: string;
  model: string;
}

/** An entry with the schema that the maker publishes of its model's input; or what is wrong with the names. */
export async function draftFromMaker(
  c: ConsoleContext,
  asked: MakerModel,
): Promise<{ id: string; entry: ShownEntry } | { problems: EntryProblem[] }> {
  const headers = { "accept-language": c.get("language"), "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(asked) };
  const answer = await c.env.API.askAsOperator(new Request(new URL("/admin/model_drafts", c.req.url), init), actor(c));
  if (answer.ok) {
    const { id, entry } = await readModelDraft(answer);
    return { id, entry };
  }
  const { message, details = [] } = await readError(answer);
  const problems = details.map(({ param, message: text }) => ({ param, text }));
  return { problems: problems.length > 0 ? problems : [{ param: "model", text: message }] };
}
