/** Validates a submission's request: checks its fields, then its scope, source, routes and price. Reserves and stores nothing. */

import { deadlineSeconds, type Kind, type Model } from "../catalog/models.ts";
import { type Parameters, parseBody, toParameters } from "../catalog/parse.ts";
import { effectivePrice, imagePrice, shownPrice, taskPrice } from "../catalog/prices.ts";
import { resolveRoles, resolveSize } from "../catalog/roles.ts";
import {
  allowsCallbacks,
  allowsPrivateNetwork,
  balanceUnit,
  hedging,
  logsSteps,
  statusLogShare,
  ownHosts,
  pricesAndRoutes,
  priceVersion,
} from "../config.ts";
import type { Caller } from "../db/callers.ts";
import { ApiError } from "../errors.ts";
import type { Language } from "../messages/index.ts";
import { providerNamed } from "../providers/index.ts";
import { firstRoute, type Submission } from "../tasks/record.ts";
import { typicalSecondsLately } from "../tasks/typical-times.ts";
import { submissionVersion } from "../versions.ts";
import { requireScope } from "./key-scope.ts";
import type { LargeBody } from "./large-body.ts";
import { mentionedCharacters } from "./mentions.ts";
import { optionViolations, requireMaxCost } from "./options.ts";
import { type Reference, readReceiverUrl, readReferences, readVideoUrl, withoutInlineData } from "./references.ts";
import { sourceFromTask } from "./source.ts";
import { usableRoutes } from "./task-routes.ts";

/** A submission's HTTP request as a value. */
export interface SubmissionRequest {
  endpoint: "image" | "video" | "remix";
  /** The task whose video a remix starts from. */
  videoId: string | undefined;
  read: LargeBody;
  caller: Caller;
  /** The body as sent, not validated. */
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
}

/** The checked fields of a body. */
interface Fields {
  kind: Kind;
  model: Model;
  output: Record<string, unknown>;
  references: Reference[];
  videoUrl: string | undefined;
  callbackUrl: string | undefined;
  characters: Submission["characters"];
}

/** A valid submission whose images are not stored yet. */
export interface Checked {
  submission: Omit<Submission, "inputs">;
  references: Reference[];
}

/** Reads and validates the fields of a body. Throws with all violations. */
export async function readFields(env: Env, { endpoint, read, caller, host, isOpenAi }: SubmissionRequest): Promise<Fields> {
  const { body } = read;
  const { model, action: kind, output, code, violations: badFields } = parseBody(body, endpoint, isOpenAi);
  const urlRules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: [host, ...ownHosts(env)] };
  const receiver = readReceiverUrl("callback_url", body["callback_url"], urlRules);
  const isCharacter = kind === "character";
  const images = isCharacter || kind === "remix" ? { references: [], violations: [] } : readReferences(read, model?.id ?? "", urlRules);
  const video = isCharacter && !read.upload ? readVideoUrl(body["url"], urlRules) : { violations: [] };
  const mentioned =
    endpoint === "image" || isCharacter
      ? { characters: [], violations: [] }
      : await mentionedCharacters(env, caller.accountId, body["prompt"]);
  const reported = new Set(badFields.map(({ param }) => param));
  const violations = [
    ...badFields,
    ...images.violations.filter(({ param }) => !reported.has(param)),
    ...video.violations,
    ...receiver.violations,
    ...mentioned.violations,
    ...optionViolations(body, "task"),
  ];
  if (violations.length > 0 || !model) throw new ApiError(code, { violations });
  const { references } = images;
  return { kind, model, output, references, videoUrl: video.url, callbackUrl: receiver.url, characters: mentioned.characters };
}

/** Builds the submission from checked fields. Throws if the key may not make it, its source cannot be used, no route supports it, or it costs more than `max_cost`. */
export async function toSubmission(
  env: Env,
  background: Pick<ExecutionContext, "waitUntil">,
  request: SubmissionRequest,
  fields: Fields,
): Promise<Checked> {
  const { caller, read } = request;
  const { kind, model, characters, callbackUrl } = fields;
  requireScope(caller, kind, model.id);
  // Reads the variables that the start and the request's log line will need, so that an invalid one is an error before anything is reserved.
  hedging(env);
  allowsCallbacks(env);
  logsSteps(env);
  statusLogShare(env);
  const references = resolveRoles(kind, fields.references);
  const parameters = resolveParameters(fields, read.body, references);
  const source = await findSource(env, request, parameters.from_task, fields.videoUrl);
  const wanted = { kind, parameters, characters, ...(source && { source }), inputs: references };
  const routes = usableRoutes(env, model, wanted);
  const prices = effectivePrice(model, pricesAndRoutes(env).prices);
  const price = taskPrice(prices, kind, parameters);
  requireMaxCost(read.body, price);
  const reference = read.body["reference"];
  return {
    references,
    submission: {
      v: submissionVersion,
      requestId: request.requestId,
      base: request.base,
      language: request.language,
      ...(callbackUrl !== undefined && { callbackUrl }),
      host: request.host,
      accountId: caller.accountId,
      keyId: caller.keyId,
      ...(caller.token && { token: caller.token.id }),
      ...(caller.scope?.maxOpenTasks !== undefined && { maxKeyTasks: caller.scope.maxOpenTasks }),
      kind,
      model: model.id,
      routes,
      parameters: withoutInlineData(parameters),
      ...(source && { source }),
      characters,
      ...(typeof reference === "string" && { reference }),
      ...(read.body["store"] === false && { store: false }),
      price,
      priceRule: { unit: balanceUnit(env), version: await priceVersion(env), amounts: shownPrice(prices) },
      ...(kind === "image" && { imagePrice: imagePrice(prices, parameters) }),
      typicalSeconds: typicalSeconds(env, background, { kind, model, routes }),
      deadlineSeconds: deadlineSeconds[kind],
    },
  };
}

/** The parameters with their defaults. A video without `size` gets the size of its first frame. */
function resolveParameters({ kind, output }: Fields, body: Record<string, unknown>, references: Reference[]): Parameters {
  const resolved = toParameters(output);
  const size = kind === "video" && body["size"] === undefined ? resolveSize(resolved.size, references) : resolved.size;
  return { ...resolved, ...(size !== undefined && { size }) };
}

async function findSource(
  env: Env,
  { caller, videoId, read }: SubmissionRequest,
  fromTask: string | undefined,
  url: string | undefined,
): Promise<Submission["source"]> {
  if (read.upload) return { asset: read.upload };
  if (videoId !== undefined) return sourceFromTask(env.TASKS, caller, videoId, "video_id");
  if (fromTask !== undefined) return sourceFromTask(env.TASKS, caller, fromTask, "from_task");
  return url === undefined ? undefined : { url };
}

/** The typical duration of such a task: measured recently, or from its provider or the catalog. */
function typicalSeconds(
  env: Env,
  background: Pick<ExecutionContext, "waitUntil">,
  { kind, model, routes }: Pick<Fields, "kind" | "model"> & Pick<Submission, "routes">,
): number {
  const route = firstRoute(routes);
  return (
    typicalSecondsLately(env.DB, background, { kind, model: model.id, route }) ??
    providerNamed(env, route.provider).typicalSeconds?.[kind] ??
    model.typicalSeconds
  );
}
