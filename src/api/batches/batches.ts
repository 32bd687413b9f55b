/** `/v1/batches`: beginning, listing, reading and cancelling batches, and their results. */

import { inLanes } from "../../base/concurrency.ts";
import { ApiError, invalid, refuse, type Violation } from "../../base/errors.ts";
import { sha256Hex, toBatchId, toBatchObjectId } from "../../base/ids.ts";
import { fileDigest } from "../../base/file-id.ts";
import { retry, retryRestart } from "../../base/retry.ts";
import { toStream } from "../../base/to-stream.ts";
import { deleteBatch, hasBatch, insertBatch, listBatches, noteBatchBegun } from "../../db/batches.ts";
import { fileById, type StoredFile } from "../../db/files.ts";
import { batchInput, batchPrefix, openAsset, removeAssets, removeUnder, storeBytes } from "../../storage/assets.ts";
import { readDeliverTo } from "../submissions/deliver-to.ts";
import { copyFile } from "../submissions/files.ts";
import { findReplay, toClaimName, withDigests } from "../submissions/idempotency.ts";
import { canonicalJson } from "../../media/canonical-json.ts";
import { zip } from "../../media/zip.ts";
import { answer, respond } from "../request/answer.ts";
import { readFields, readNoBody } from "../request/body.ts";
import { type AppContext, assetBase, type Handle, hostName, queryParameter } from "../request/context.ts";
import { checkKey, toMaxCost } from "../request/options.ts";
import { isOpenAi } from "../request/origin.ts";
import { readQuery, requireRow, toList } from "../request/query.ts";
import { readReceiverUrl } from "../request/references.ts";
import { requireVariables } from "../request/variable-checks.ts";
import { maxFileBytes, maxOpenTasks, urlRules } from "../../config.ts";
import { newBatch } from "../schema/bodies.ts";
import { pageQuery } from "../schema/queries.ts";
import { listArchive, type ResultsPart } from "./archive.ts";
import type { BatchTerms, OpenAiOrigin } from "./state.ts";
import type { BatchView } from "./view.ts";

/** Begins a batch. With an `Idempotency-Key` a repeat returns the same one as long as it exists. */
export async function createBatch(c: AppContext): Promise<Response> {
  const { env } = c;
  requireVariables(env, "task");
  // Ignored, it would run and charge the lines.
  if ((queryParameter(c, "dry_run") ?? "false") !== "false") throw invalid("dry_run", "not_equal", { allowed: "false" });
  const { accountId, keyId, keyHash, ownWallets } = c.get("caller");
  const host = hostName(c);
  const rules = urlRules(env, host);
  const readReceiver = (url: unknown) => readReceiverUrl("callback_url", url, rules);
  const check = (sent: Record<string, unknown>) => [...readReceiver(sent["callback_url"]).violations, ...inputViolations(sent)];
  // The lines stay as they were sent, for the receipts of their tasks.
  const body = await readFields(c, newBatch, { depth: 2, check });
  // A presigned URL takes one file, and a batch has many.
  const delivery = body.deliver_to?.url === undefined ? await readDeliverTo(env, accountId, body, rules) : oneFileOnly;
  refuse(delivery.violations);
  const { input_file: inputFile, requests } = body;

  const key = c.req.header("idempotency-key");
  if (key !== undefined) checkKey(key);
  const objectId =
    key === undefined ? env.BATCHES.newUniqueId() : env.BATCHES.idFromName(await sha256Hex(["batch", accountId, key].join("\n")));
  const id = toBatchId(objectId);
  // A new stub for each call: one that broke stays broken.
  const batch = () => env.BATCHES.get(objectId);
  const claim =
    key === undefined
      ? undefined
      : { name: await toClaimName(accountId, key), fingerprint: await sha256Hex(canonicalJson(withDigests(body))) };
  if (claim) {
    const earlier = await retryRestart("batch", id, async () => batch().find(accountId, claim.fingerprint, ownWallets));
    if (earlier) return answerCreated(c, earlier, true);
    // Looked up before anything is stored; the batch's object takes it.
    await findReplay(env, claim, c.get("caller"));
  }

  const input = inputFile === undefined ? undefined : await findInput(c, inputFile);
  const inline = input ? undefined : new TextEncoder().encode((requests ?? []).map((line) => `${JSON.stringify(line)}\n`).join(""));
  const create = async () => {
    const terms: BatchTerms = {
      id,
      accountId,
      keyId,
      keyHash,
      fingerprint: claim?.fingerprint,
      claim: claim?.name,
      requestId: c.get("requestId"),
      base: assetBase(c),
      host,
      language: c.get("language"),
      inputBytes: input?.bytes ?? inline!.byteLength,
      inputFile,
      maxCost: body.max_cost === undefined ? undefined : toMaxCost(body.max_cost),
      concurrency: body.concurrency,
      callbackUrl: readReceiver(body.callback_url).url,
      reference: body.reference,
      deliverTo: delivery.deliverTo,
      openAi: readOrigin(c),
      createdAt: Date.now(),
    };
    // Listed before it exists: an erasure of the account finds it, and after a crash so does the removal of what it left.
    const listed = await insertBatch(env.DB, terms, maxFileBytes(env), maxOpenTasks(env));
    if (listed === "too_many_files") throw new ApiError(listed);
    if (listed !== "listed") throw new ApiError(listed, { sentence: { key: "too_many_open_batches", values: {} } });
    const stored = batchInput(terms);
    // Under the batch's own key, because the file may be deleted or expire while the batch runs.
    if (input) await copyFile(env, input, "input_file", stored);
    else await storeBytes(env.ASSETS, stored, inline!, "application/jsonl");
    const view = await retry("batch", id, async () => await batch().create(terms));
    if (view === "conflict") await removeAssets(env.ASSETS, [stored]);
    // Another member's request with the same key and lines was faster.
    else if (ownWallets && !(await batch().view(accountId, ownWallets))) return "conflict";
    await noteBatchBegun(env.DB, accountId, id).catch(() => undefined); // the sweep asks the object
    return view;
  };
  const work = create().catch(async (error: unknown) => {
    // Another request with the same key may be beginning the batch: what this one leaves is for the sweep.
    const exists =
      key !== undefined ||
      (await batch()
        .view(accountId)
        .catch(() => true));
    if (!exists) {
      await removeUnder(env.ASSETS, batchPrefix(id));
      await deleteBatch(env.DB, accountId, id);
    }
    throw error;
  });
  // Continues after the caller disconnects, so that what is stored belongs to a batch or is removed.
  c.executionCtx.waitUntil(work.catch(() => undefined)); // reported below
  return answerCreated(c, await work, false);
}

/** A batch has one input. */
function inputViolations({ input_file: inputFile, requests }: Record<string, unknown>): Violation[] {
  if (inputFile === undefined && requests === undefined)
    return [{ param: "input_file", rule: "one_of_required", values: { fields: "input_file, requests" } }];
  if (inputFile === undefined || requests === undefined) return [];
  return [{ param: "requests", rule: "not_together", values: { other: "input_file" } }];
}

function answerCreated(c: AppContext, view: BatchView | "conflict", isReplay: boolean): Response {
  if (view === "conflict") throw new ApiError("idempotency_conflict");
  return answer(c, view, 201, { location: `/v1/batches/${view.id}`, ...(isReplay && { "idempotent-replayed": "true" }) });
}

const oneFileOnly = { deliverTo: undefined, violations: [{ param: "deliver_to.url", rule: "one_file_only" }] };

/** What OpenAI's paths add to a batch of theirs. */
function readOrigin(c: AppContext): OpenAiOrigin | undefined {
  const origin = isOpenAi(c.req.raw) ? c.req.header("x-batch-origin") : undefined;
  return origin === undefined ? undefined : (JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(origin))) as OpenAiOrigin);
}

async function findInput(c: AppContext, id: string): Promise<StoredFile> {
  const file = fileDigest(id) === undefined ? undefined : await fileById(c.env.DB, c.get("caller"), id, Date.now());
  if (!file) throw invalid("input_file", "unknown_file");
  if (file.type !== "application/jsonl") throw invalid("input_file", "file_not_lines");
  return file;
}

type Stub = ReturnType<Env["BATCHES"]["get"]>;
/** `isRepeat`: an earlier call may have done the work. */
type Owner = [accountId: string, ownWallets: string[] | undefined, isRepeat: boolean];

/** What a batch's object answers to its owner; what is asked must be safe to repeat. Throws 404 for an id that was never issued. */
async function askBatch<T>(c: AppContext, id: string, ask: (batch: Stub, ...owner: Owner) => Promise<T>): Promise<T> {
  const { BATCHES } = c.env;
  const objectId = toBatchObjectId(BATCHES, id);
  if (!objectId) throw new ApiError("batch_not_found");
  const { accountId, ownWallets } = c.get("caller");
  return retryRestart("batch", id, (isRepeat) => ask(BATCHES.get(objectId), accountId, ownWallets, isRepeat));
}

export async function showBatches(c: AppContext): Promise<Response> {
  const owner = c.get("caller");
  const { limit, after } = readQuery(c, pageQuery);
  await requireRow(after, (id) => hasBatch(c.env.DB, owner.accountId, id));
  const ids = await listBatches(c.env.DB, owner, { limit: limit + 1, after });
  const views = await inLanes(ids.slice(0, limit), (id) => askBatch(c, id, readView));
  const batches = views.filter((view) => view !== null);
  return answer(c, toList(batches, ids.length > limit));
}

const readView = async (batch: Stub, accountId: string, ownWallets?: string[]): Promise<BatchView | null> =>
  batch.view(accountId, ownWallets);

/** The handler that asks a batch for itself, or for a change. */
const shown =
  (ask: (batch: Stub, ...owner: Owner) => Promise<BatchView | "final" | null>): Handle =>
  async (c, id) => {
    if (c.req.method === "POST") await readNoBody(c);
    const view = await askBatch(c, id, ask);
    if (!view) throw new ApiError("batch_not_found");
    if (view === "final") throw new ApiError("task_already_final", { sentence: { key: "batch_already_final", values: {} } });
    return answer(c, view);
  };

export const showBatch = shown(readView);
export const cancelBatch = shown(async (batch, ...owner) => batch.cancel(...owner));
/** Delivers again what has not arrived. Answers before the tasks are asked. */
export const deliverBatch = shown(async (batch, accountId, ownWallets) => batch.deliverAgain(accountId, ownWallets));

/** How the results of a batch are read, part by part, and the first part. */
async function openResults(c: AppContext, id: string) {
  const read = (from: number) =>
    askBatch(c, id, async (batch, account, own): Promise<ResultsPart | null> => batch.results(account, from, own));
  const first = await read(0);
  if (!first) throw new ApiError("batch_not_found");
  return { first, read };
}

/** The results of the lines that have ended, in the order of the input, also while the batch runs. */
export async function showResults(c: AppContext, id: string): Promise<Response> {
  const { first, read } = await openResults(c, id);
  const encoder = new TextEncoder();
  async function* texts() {
    for (let part: ResultsPart | null = first; ; part = await read(part.next)) {
      // Removed meanwhile: what was sent must not look complete.
      if (!part) throw new Error("the batch is gone");
      if (part.text) yield encoder.encode(part.text);
      if (part.next === undefined) return;
    }
  }
  return respond(c, toStream(texts()), 200, { "content-type": "application/jsonl", "cache-control": "private, no-store" });
}

/** The files of the lines that have completed and are not deleted yet, as one archive. */
export async function downloadArchive(c: AppContext, id: string): Promise<Response> {
  const { first, read } = await openResults(c, id);
  const open = async (key: string) => (await openAsset(c.env.ASSETS, key))?.body;
  return respond(c, zip(listArchive(first, read, open)), 200, {
    "content-type": "application/zip",
    "content-disposition": `attachment; filename="${id}.zip"`,
    "cache-control": "private, no-store",
  });
}
