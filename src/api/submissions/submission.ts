/** Validates a submission's request: checks its fields, then its scope, source, routes and price. Reserves and stores nothing. */

import { deadlineSeconds, type Model, hasWatermark } from "../../catalog/models.ts";
import { type Parameters, parseBody, toParameters } from "../../catalog/parse.ts";
import { priceTask } from "../../catalog/prices.ts";
import { resolveRoles, resolveSize } from "../../catalog/roles.ts";
import { balanceUnit, urlRules, visibleLabel } from "../../config.ts";
import { liveCatalog, priceVersion } from "../../current-catalog.ts";
import { maxImageBytes } from "../../catalog/fields.ts";
import type { Caller } from "../../db/callers.ts";
import { ApiError } from "../../base/errors.ts";
import type { Language } from "../../messages/index.ts";
import { providerNamed } from "../../providers/index.ts";
import { firstRoute, type Submission } from "../../tasks/record.ts";
import { learnedLately } from "../../tasks/typical-times.ts";
import { submissionVersion } from "../../base/versions.ts";
import { requireOwnFields } from "../request/client-tokens.ts";
import { requireScope } from "../request/key-scope.ts";
import type { LargeBody } from "../request/large-body.ts";
import { readDeliverTo } from "./deliver-to.ts";
import { mentionedCharacters } from "./mentions.ts";
import { optionViolations, requireMaxCost } from "../request/options.ts";
import {
  type Reference,
  type ReferenceWithRole,
  readReceiverUrl,
  readOwnFiles,
  readReferences,
  readVideoUrl,
  withoutInlineData,
  withoutInlineFiles,
} from "../request/references.ts";
import { sourceFromTask } from "./source.ts";
import { usableRoutes } from "./routes.ts";
import { findFiles, toSource } from "./files.ts";
import type { Lookups } from "./lookups.ts";
import type { StoredFile } from "../../db/files.ts";

/** A submission's HTTP request as a value. */
export interface SubmissionRequest {
  /** `task`: a model of any kind but chats. */
  endpoint: "image" | "video" | "remix" | "task";
  /** The task whose video a remix starts from. */
  videoId: string | undefined;
  read: LargeBody;
  caller: Caller;
  /** As sent, not validated. */
  idempotencyKey: string | undefined;
  isDryRun: boolean;
  isOpenAi: boolean;
  path: string;
  /** The gateway's host name, as the caller wrote it. */
  host: string;
  /** The base URL of assets. */
  base: string;
  requestId: string;
  language: Language;
  /** What earlier submissions have looked up; missing for one that is alone. */
  lookups?: Lookups | undefined;
}

/** The checked fields of a body. */
export type Fields = Awaited<ReturnType<typeof readFields>>;

/** A valid submission whose images are not stored yet. */
export interface Checked {
  submission: Omit<Submission, "inputs" | "bodyDigest">;
  references: ReferenceWithRole[];
  /** The files that `references` name, by id. */
  files: Map<string, StoredFile>;
  /** The file that is the source video, which is not copied yet. */
  videoFile: StoredFile | undefined;
}

/** Reads and validates the fields of a body. Throws with all violations. */
export async function readFields(env: Env, { endpoint, read, caller, host, isOpenAi, lookups }: SubmissionRequest) {
  const { body } = read;
  requireOwnFields(caller, body);
  const catalog = await liveCatalog(env.DB);
  const { model, action: kind, output, code, violations: badFields, files: ownFiles } = parseBody(body, endpoint, { isOpenAi, catalog });
  const rules = urlRules(env, host);
  const receiver = readReceiverUrl("callback_url", body["callback_url"], rules);
  const optionFaults = optionViolations(body, "task");
  // Looked up only if its form is right.
  const delivery = optionFaults.some(({ param }) => param.startsWith("deliver_to"))
    ? { violations: [] }
    : await readDeliverTo(env, caller.accountId, body, rules, lookups?.destinations);
  const isCharacter = kind === "character";
  const images = readImages();
  const video = isCharacter && !read.upload ? readVideoUrl(body["url"], rules) : { violations: [] };
  const named = [
    ...images.references.flatMap(({ file: id, ...rest }) =>
      "param" in rest && id !== undefined
        ? { id, param: rest.param, is: rest.is ?? "image", ...(rest.at && { maxBytes: maxImageBytes }) }
        : [],
    ),
    ...(video.file === undefined ? [] : [{ id: video.file, param: "url", is: "video" as const }]),
  ];
  const { files, violations: fileViolations } = await findFiles(env, caller, named, lookups?.files);
  const mentioned =
    model?.own || kind === "image" || isCharacter
      ? { characters: [], violations: [] }
      : await mentionedCharacters(env, caller, body["prompt"]);
  const reported = new Set(badFields.map(({ param }) => param));
  const violations = [
    ...badFields,
    ...images.violations.filter(({ param }) => !reported.has(param)),
    ...video.violations,
    ...fileViolations.filter(({ param }) => !reported.has(param)),
    ...receiver.violations,
    ...mentioned.violations,
    ...optionFaults,
    ...delivery.violations,
  ];
  if (violations.length > 0 || !model) throw new ApiError(code, { violations });
  return {
    /** The catalogue that the body was read with: its prices and routes are the task's, whatever changes meanwhile. */
    catalog,
    kind,
    model,
    output,
    references: images.references,
    /** The files that an own input names. */
    ownFiles,
    /** The files that fields name, by id. */
    files,
    videoUrl: video.url,
    /** The file that is a character's source video. */
    videoFile: files.get(video.file ?? ""),
    callbackUrl: receiver.url,
    deliverTo: delivery.deliverTo,
    characters: mentioned.characters,
  };

  function readImages(): ReturnType<typeof readReferences> {
    if (isCharacter || kind === "remix") return { references: [], violations: [] };
    return model?.own ? readOwnFiles(ownFiles, rules) : readReferences(read, model?.like ?? "", rules);
  }
}

/** Builds the submission from checked fields. Throws if the key may not make it, its source cannot be used, no route supports it, or it costs more than `max_cost`. */
export async function toSubmission(
  env: Env,
  background: Pick<ExecutionContext, "waitUntil">,
  request: SubmissionRequest,
  fields: Fields,
): Promise<Checked> {
  const { caller, read } = request;
  const { catalog, kind, model, characters, callbackUrl, deliverTo } = fields;
  requireScope(caller, kind, model.id);
  const references = resolveRoles(kind, fields.references);
  const parameters = resolveParameters(fields, read.body, references);
  const source = await findSource(env, request, parameters, fields);
  const label = operatorsLabel(env, kind, model);
  const wanted = { kind, parameters, characters, ...(source && { source }), ...(label && { label }), inputs: references };
  const routes = usableRoutes(env, model, wanted);
  const { price, imagePrice, amounts } = priceTask(model, kind, parameters);
  requireMaxCost(read.body, price);
  const receiver = caller.token ? caller.token.callbackUrl : callbackUrl;
  const reference = caller.token ? caller.token.reference : read.body["reference"];
  return {
    references,
    files: fields.files,
    videoFile: fields.videoFile,
    submission: {
      v: submissionVersion,
      requestId: request.requestId,
      base: request.base,
      language: request.language,
      ...(receiver !== undefined && { callbackUrl: receiver }),
      ...(deliverTo && { deliverTo }),
      host: request.host,
      accountId: caller.accountId,
      keyId: caller.keyId,
      ...(caller.token && { token: caller.token.id }),
      ...(caller.scope?.maxOpenTasks !== undefined && { maxKeyTasks: caller.scope.maxOpenTasks }),
      kind,
      model: model.id,
      routes,
      parameters: withoutInlineData({
        ...parameters,
        ...(parameters.input && { input: withoutInlineFiles(parameters.input, fields.ownFiles) }),
      }),
      ...(source && { source }),
      ...(fields.ownFiles.length > 0 && { fromMedia: true as const }),
      characters,
      ...(typeof reference === "string" && { reference }),
      ...(read.body["store"] === false && { store: false }),
      ...(label && { label }),
      price,
      priceRule: { unit: balanceUnit(env), version: await priceVersion(catalog), amounts },
      ...(imagePrice !== undefined && { imagePrice }),
      ...estimate(env, background, { kind, model, routes, parameters }),
      deadlineSeconds: model.deadlineSeconds ?? deadlineSeconds[kind],
    },
  };
}

/** The operator's choice of a visible label, unless the caller has one (`metadata.watermark`) or nothing is drawn; undefined for no label. */
function operatorsLabel(env: Env, kind: Submission["kind"], model: Model): Submission["label"] {
  const label = visibleLabel(env);
  if (label === "off" || kind === "character") return undefined;
  return kind === "video" && hasWatermark(model) ? undefined : label;
}

/** The parameters with their defaults. A video without `size` gets the size of its first frame. */
function resolveParameters({ kind, output }: Fields, body: Record<string, unknown>, references: Reference[]): Parameters {
  const resolved = toParameters(output);
  const size = kind === "video" && !resolved.input && body["size"] === undefined ? resolveSize(resolved.size, references) : resolved.size;
  return { ...resolved, ...(size !== undefined && { size }) };
}

async function findSource(
  env: Env,
  { caller, videoId, read }: SubmissionRequest,
  { from_task: fromTask, timestamps }: Parameters,
  { videoUrl: url, videoFile: file }: Pick<Fields, "videoUrl" | "videoFile">,
): Promise<Submission["source"]> {
  if (read.upload) return { asset: read.upload };
  if (file) return toSource(file, file.object);
  if (videoId !== undefined) return sourceFromTask(env.TASKS, caller, videoId, "video_id");
  if (fromTask !== undefined) return sourceFromTask(env.TASKS, caller, fromTask, "from_task", timestamps);
  return url === undefined ? undefined : { url };
}

/** How long such a task takes: measured recently, or from its provider or the catalog. */
function estimate(
  env: Env,
  background: Pick<ExecutionContext, "waitUntil">,
  { kind, model, routes, parameters }: Pick<Fields, "kind" | "model"> & Pick<Submission, "routes" | "parameters">,
): Pick<Submission, "typicalSeconds" | "runSeconds"> {
  const route = firstRoute(routes);
  return (
    learnedLately(env.DB, background, { kind, model: model.id, route, parameters }) ?? {
      typicalSeconds: providerNamed(env, route.provider).typicalSeconds?.[kind] ?? model.typicalSeconds,
    }
  );
}
