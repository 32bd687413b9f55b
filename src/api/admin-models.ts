/** `/admin/models`: the operator's models and changes of built-in ones, each checked before it is stored. */

import { answer, respond } from "./request/answer.ts";
import { type AppContext, operationsWorker } from "./request/context.ts";
import { type Action, deadlineSeconds, type Entry, type Kind, type Model } from "../catalog/models.ts";
import { buildCatalog, builtInCatalog, type Catalog } from "../catalog/catalog.ts";
import { checkEntry, refusedEntries } from "../catalog/entries.ts";
import { parseBody, toParameters } from "../catalog/parse.ts";
import { shownRule } from "../catalog/own-price.ts";
import { shownPrice } from "../catalog/prices.ts";
import { readCatalog } from "../current-catalog.ts";
import { canonicalJson } from "../media/canonical-json.ts";
import { listRevisions, type ModelRow, writeModel } from "../db/models.ts";
import { ApiError, invalid, notOneOf, refuse, type Violation } from "../base/errors.ts";
import { toSeconds } from "../base/times.ts";
import { isOn, providerNamed, providerNames } from "../providers/index.ts";
import { toRequest } from "../tasks/request.ts";
import { operator } from "./request/actor.ts";
import { describeViolations } from "./request/error-body.ts";
import { readFields, readNoBody, readObject, smallBody } from "./request/body.ts";
import { readQuery, toList } from "./request/query.ts";
import { modelChangeQuery } from "./schema/queries.ts";
import { modelRollback, newModelDraft } from "./schema/bodies.ts";

export async function listModels(c: AppContext): Promise<Response> {
  const catalog = await readCatalog(c.env.DB);
  const refused = new Map(refusedEntries(catalog, providerNames).map(({ id, violations }) => [id, violations]));
  const data = catalog.all
    .filter(({ state }) => state !== "removed")
    .map((model) => {
      const violations = refused.get(model.id);
      return { ...summary(c.env, model), ...(violations && { refused: describeViolations(violations, c.get("language")) }) };
    });
  return answer(c, toList(data, false));
}

export async function showModel(c: AppContext, id: string): Promise<Response> {
  const [catalog, rows] = await Promise.all([readCatalog(c.env.DB), listRevisions(c.env.DB, id)]);
  if (rows.length === 0 && !builtInCatalog().all.some((model) => model.id === id)) throw unknownModel();
  return answer(c, view(c.env, id, catalog, rows));
}

export async function putModel(c: AppContext, id: string): Promise<Response> {
  const raw = await readObject(c, smallBody);
  return change(c, id, readQuery(c, modelChangeQuery), () => ({ raw, isRemoved: false }));
}

export async function deleteModel(c: AppContext, id: string): Promise<Response> {
  await readNoBody(c);
  await change(c, id, readQuery(c, modelChangeQuery), ([newest]) => {
    if (!newest || newest.removed === 1) throw unknownModel();
    return { raw: parseEntry(newest), isRemoved: true };
  });
  return respond(c, null, 204);
}

/** Makes an earlier revision the newest one again. It is checked as if it was new: what it refers to may be gone. */
export async function rollBackModel(c: AppContext, id: string): Promise<Response> {
  const { revision } = await readFields(c, modelRollback);
  return change(c, id, readQuery(c, modelChangeQuery), (rows) => {
    if (rows.length === 0) throw unknownModel();
    const known = rows.map((row) => row.revision);
    const found = rows[known.indexOf(revision)];
    if (!found) throw new ApiError("invalid_request", { violations: [notOneOf("revision", known)] });
    return { raw: parseEntry(found), isRemoved: found.removed === 1 };
  });
}

/** An entry with the schema that a maker publishes of a model's input, which is not stored. */
export async function draftModel(c: AppContext): Promise<Response> {
  const { maker, model, id, kind } = await readFields(c, newModelDraft);
  const { REPLICATE_API_TOKEN, REPLICATE_BASE_URL, WORKERS_AI_ACCOUNT_ID, WORKERS_AI_API_TOKEN, WORKERS_AI_BASE_URL } = c.env;
  const settings = { REPLICATE_API_TOKEN, REPLICATE_BASE_URL, WORKERS_AI_ACCOUNT_ID, WORKERS_AI_API_TOKEN, WORKERS_AI_BASE_URL };
  const found = await operationsWorker(c).draftModel(maker, model, { id, kind }, settings);
  if ("entry" in found) return answer(c, { object: "model_draft", ...found });
  switch (found.as) {
    case "no_secret":
      throw invalid("maker", "maker_no_secret", { variable: found.variable });
    case "no_answer":
      throw new ApiError("unavailable", {
        violations: [{ param: "maker", rule: "maker_no_answer", values: { status: found.status } }],
      });
    default:
      throw invalid("model", "maker_no_schema", { maker });
  }
}

const parseEntry = ({ entry }: ModelRow) => JSON.parse(entry) as Record<string, unknown>;

const unknownModel = () => new ApiError("model_not_found", { status: 404 });

/** What a change writes. */
interface Wanted {
  raw: Record<string, unknown>;
  isRemoved: boolean;
}

/** A change of another model may come between check and write: then the entry is checked again. */
const maxAttempts = 5;

/**
 * Checks a change and, unless it is a dry run, stores it as a new revision. Throws 400 with every violated rule, and 409 with what another
 * operator changed, if the model's newest revision is not the one that the request is based on.
 */
async function change(
  c: AppContext,
  id: string,
  { dry_run: isDryRun, revision }: { dry_run?: string | undefined; revision?: number | undefined },
  choose: (rows: ModelRow[]) => Wanted,
): Promise<Response> {
  const { DB } = c.env;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    // The catalogue first: if the model changes after it was read, the write below is refused.
    const catalog = await readCatalog(DB);
    const rows = await listRevisions(DB, id);
    const newest = rows[0];
    const { raw, isRemoved } = choose(rows);
    const { id: _, ...fields } = raw;
    const text = canonicalJson(fields);
    const isSame = newest?.entry === text && newest.removed === (isRemoved ? 1 : 0);
    // Without `revision` a change may not overwrite what its sender may not have seen.
    const base = revision ?? (newest?.removed === 1 ? newest.revision : 0);
    if (!isSame && base !== (newest?.revision ?? 0)) throw changedMeanwhile(rows, base);
    const after = isRemoved ? withoutModel(catalog, id) : checkedCatalog(c.env, catalog, id, raw);
    if (isDryRun === "true")
      return answer(c, { ...view(c.env, id, after, rows), entry: isRemoved ? null : { ...fields, id }, dry_run: true });
    if (isSame) return answer(c, view(c.env, id, catalog, rows));
    const write = { id, entry: text, isRemoved, after: newest?.revision ?? 0, checkedAt: catalog.revision };
    const before = newest?.removed === 0 ? newest.entry : undefined;
    if ((await writeModel(DB, operator(c), write, before)) === undefined) continue;
    const [live, kept] = [await readCatalog(DB), await listRevisions(DB, id)];
    return answer(c, view(c.env, id, live, kept), newest ? 200 : 201);
  }
  throw new ApiError("unavailable");
}

/** The conflict with the newest revision: its number, and each field that changed since the revision `base`. */
function changedMeanwhile(rows: ModelRow[], base: number): ApiError {
  const [newest] = rows;
  const parse = (row: ModelRow | undefined): Record<string, unknown> => (row?.removed === 0 ? parseEntry(row) : {});
  const before = parse(rows.find((row) => row.revision === base));
  const now = parse(newest);
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const show = (value: unknown) => (value === undefined ? "–" : canonicalJson(value).slice(0, 200));
  const changes = names.flatMap((param): Violation[] => {
    const [was, is] = [show(before[param]), show(now[param])];
    return was === is
      ? []
      : [{ param, rule: "changed_meanwhile", values: { was, is }, ...(now[param] !== undefined && { allowed: now[param] }) }];
  });
  const revision = newest?.revision ?? 0;
  return new ApiError("conflict", {
    violations: [{ param: "revision", rule: "not_newest", values: { revision }, allowed: [revision] }, ...changes],
  });
}

const stored = (catalog: Catalog, id: string) => catalog.stored.filter(({ entry }) => entry.id !== id);

const withoutModel = (catalog: Catalog, id: string) => buildCatalog(catalog.revision, stored(catalog, id));

/** The catalogue with this entry. Throws 400. */
function checkedCatalog(env: Env, catalog: Catalog, id: string, raw: Record<string, unknown>): Catalog {
  const { entry, violations } = checkEntry(raw, id, { catalog, providers: providerNames });
  refuse(violations);
  const after = buildCatalog(catalog.revision, [...stored(catalog, id), { entry, isRemoved: false }]);
  const model = after.all.find((one) => one.id === id)!;
  if (entry.routes) refuse(findUnserved(env, after, model));
  return after;
}

const smallest: Record<Exclude<Kind, "file">, { endpoint: "image" | "video" | "remix"; body: object }> = {
  image: { endpoint: "image", body: { prompt: "x" } },
  video: { endpoint: "video", body: { prompt: "x" } },
  remix: { endpoint: "remix", body: { prompt: "x" } },
  character: { endpoint: "video", body: { url: "https://example.com/video.mp4", timestamps: "0,1" } },
};

/**
 * A violation for each route whose provider does not know the upstream model for any action of the model. A provider without secrets
 * cannot be asked: the answer says that it is off.
 */
function findUnserved(env: Env, catalog: Catalog, model: Model): Violation[] {
  const actions = Object.keys(model.actions) as Exclude<Action, "file">[];
  return model.routes.flatMap((route, at): Violation[] => {
    if (!isOn(env, route.provider)) return [];
    const provider = providerNamed(env, route.provider);
    const { settings = {} } = route;
    // One that is not known would have no effect, such as the address of another server.
    const setting = provider.wrongSetting ? provider.wrongSetting(settings) : Object.keys(settings)[0];
    if (setting !== undefined) return [{ param: `routes[${at}].settings.${setting}`, rule: "bad_setting" }];
    if (model.own)
      return provider.takesOwnInput
        ? []
        : [{ param: `routes[${at}].provider`, rule: "no_own_input", values: { provider: route.provider } }];
    const isServed = actions.some((action) => {
      if (action === "chat") return provider.chat !== undefined;
      const { endpoint, body } = smallest[action];
      const { output } = parseBody({ ...body, model: model.id }, endpoint, { catalog: { ...catalog, named: () => model } });
      const parameters = toParameters(output);
      return provider.unsupportedField?.(toRequest({ kind: action, parameters, characters: [], inputs: [] }, route)) !== "model";
    });
    return isServed ? [] : [{ param: `routes[${at}].model`, rule: "no_adapter", values: { provider: route.provider } }];
  });
}

const isServing = (env: Env, provider: string) => {
  try {
    return isOn(env, provider);
  } catch {
    return false; // its base URL is wrong, which `/readyz` reports
  }
};

/** A model as it is sold now. */
const summary = (env: Env, model: Model) => ({
  id: model.id,
  kind: model.family === "chat" ? "text" : model.family,
  built_in: builtInCatalog().all.some(({ id }) => id === model.id),
  state: model.state === "hidden" ? "hidden" : "live",
  ...(model.title !== undefined && { title: model.title }),
  aliases: model.aliases,
  ...(!model.own && { like: model.like }),
  price: model.own ? shownRule(model.own.price) : shownPrice(model.price),
  typical_seconds: model.typicalSeconds,
  deadline_seconds: model.family === "chat" ? null : (model.deadlineSeconds ?? deadlineSeconds[model.family]),
  routes: model.routes.map((route) => ({ ...route, on: isServing(env, route.provider) })),
});

/** The operator's entry, the model as it is sold, and the revisions that are kept. */
function view(env: Env, id: string, catalog: Catalog, rows: ModelRow[]) {
  const [newest] = rows;
  const model = catalog.all.find((one) => one.id === id && one.state !== "removed");
  return {
    object: "model_entry",
    id,
    revision: newest?.revision ?? 0,
    entry: newest && newest.removed === 0 ? { ...(JSON.parse(newest.entry) as Entry), id } : null,
    model: model ? summary(env, model) : null,
    revisions: rows.map(({ revision, at, removed }) => ({ revision, at: toSeconds(at), removed: removed === 1 })),
  };
}
