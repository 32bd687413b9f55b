/** Checks and changes of models: calls of the gateway's `/admin/models`, which owns every rule. */

import { listRevisions, type ModelRow } from "../../../db/models.ts";
import { log } from "../../../base/log.ts";
import { readError, readModelDraft, readModelEntry, type SoldModel } from "../../answers.ts";
import type { ConsoleContext } from "../../context.ts";
import { askAsOperator, withJson } from "../../gateway.ts";
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

type ApiError = Awaited<ReturnType<typeof readError>>;

const toProblem = ({ param, message }: NonNullable<ApiError["details"]>[number]): EntryProblem => ({ param, text: message });

/** What is wrong; an error without details is about `param`. */
const toProblems = ({ message, details = [] }: ApiError, param: string): EntryProblem[] =>
  details.length > 0 ? details.map(toProblem) : [{ param, text: message }];

/** Calls the gateway for the admin; `outcome` is the log's word for a change. */
async function ask(c: ConsoleContext, id: string, path: string, init: RequestInit, outcome?: string): Promise<Verdict> {
  const answer = await askAsOperator(c, path, init);
  if (answer.ok) {
    const { model, revision } = answer.status === 204 ? { model: null, revision: 0 } : await readModelEntry(answer);
    if (outcome !== undefined) log("admin", { by: c.var.account.id, model: id, revision, outcome });
    return { as: "good", model, revision };
  }
  const error = await readError(answer);
  if (error.code !== "conflict") return { as: "refused", problems: toProblems(error, "") };
  const [newest, ...changes] = error.details ?? [];
  const [revision] = Array.isArray(newest?.allowed) ? (newest.allowed as unknown[]) : [];
  return { as: "conflict", revision: Number(revision) || 0, changes: changes.map(toProblem) };
}

/** Checks an entry, without storing it, against the newest revision. */
export const checkDraft = (c: ConsoleContext, { id, entry, revision }: Draft): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?dry_run=true&revision=${revision}`, withJson("PUT", entry));

export const saveDraft = (c: ConsoleContext, { id, entry, revision }: Draft): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?revision=${revision}`, withJson("PUT", entry), "model_changed");

/** Makes an earlier revision the newest one again, if `base` is the newest. */
export const rollBack = (c: ConsoleContext, id: string, to: number, base: number): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}/rollback?revision=${base}`, withJson("POST", { revision: to }), "model_rolled_back");

export const removeEntry = (c: ConsoleContext, id: string, base: number): Promise<Verdict> =>
  ask(c, id, `${pathOf(id)}?revision=${base}`, { method: "DELETE" }, "model_removed");

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
  const answer = await askAsOperator(c, "/admin/model_drafts", withJson("POST", asked));
  if (answer.ok) {
    const { id, entry } = await readModelDraft(answer);
    return { id, entry };
  }
  return { problems: toProblems(await readError(answer), "model") };
}
