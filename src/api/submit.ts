/** Turns a request's body into a task: all checks, the price, then one call that creates the task. */

import { inputPrefix, openAsset, removeAssets, removeUnder, storeBytes } from "../assets.ts";
import type { Kind, Model } from "../catalog/models.ts";
import { deadlineSeconds } from "../catalog/models.ts";
import { toParameters, parseBody } from "../catalog/parse.ts";
import { imagePrice, effectivePrice, shownPrice, taskPrice } from "../catalog/prices.ts";
import { resolveRoles, resolveSize } from "../catalog/roles.ts";
import { type Route, routesFor } from "../catalog/routes.ts";
import { allowsPrivateNetwork, balanceUnit, isLocal, ownHosts, pricesAndRoutes, priceVersion } from "../config.ts";
import { ApiError, budgetExceeded } from "../errors.ts";
import { toObjectId, sha256Hex, toTaskId } from "../ids.ts";
import { retry } from "../retry.ts";
import { digestJson } from "../media/canonical-json.ts";
import { largeReads } from "../media/large-reads.ts";
import { isOn, providerNamed, unhealthyLast } from "../providers/index.ts";
import type { GenerationRequest } from "../providers/provider.ts";
import type { ClaimAnswer } from "../tasks/claim-object.ts";
import { toRequest } from "../tasks/job.ts";
import type { Input, Submission, Task } from "../tasks/record.ts";
import { readObject, smallBody } from "./body.ts";
import { type AppContext, answer, assetBase } from "./frame.ts";
import { fingerprint, readIdempotencyKey, replayed } from "./idempotency.ts";
import { extractedKey, type LargeBody, readLargeBody, withoutImages } from "./large-body.ts";
import { requireScope } from "./key-scope.ts";
import { isOpenAi } from "./openai.ts";
import { mentionedCharacters } from "./mentions.ts";
import { type Reference, readReceiverUrl, readReferences, readVideoUrl, withoutInlineData } from "./references.ts";
import { sourceFromTask } from "./source.ts";
import { typicalSecondsLately } from "../tasks/typical-times.ts";
import { submissionView, toMetadata } from "../tasks/views.ts";
import { answerDryRun } from "./dry-run.ts";
import { isDryRun, optionViolations, requireMaxCost } from "./options.ts";

/** Answers the submission of an image, a video or character, or a remix of the task `videoId`. */
export async function submit(c: AppContext, endpoint: "image" | "video"): Promise<Response>;
export async function submit(c: AppContext, endpoint: "remix", videoId: string): Promise<Response>;
export async function submit(c: AppContext, endpoint: "image" | "video" | "remix", videoId?: string): Promise<Response> {
  const work = accept(c, endpoint, videoId);
  // Continues after the caller disconnects: everything stored then belongs to a task or is deleted.
  c.executionCtx.waitUntil(work.catch(() => undefined)); // reported below
  return work;
}

async function accept(c: AppContext, endpoint: "image" | "video" | "remix", videoId: string | undefined): Promise<Response> {
  const objectId = c.env.TASKS.newUniqueId();
  const taskId = toTaskId(objectId);
  const read: LargeBody =
    videoId === undefined ? await readLargeBody(c, taskId, { keepsImages: !isDryRun(c) }) : withoutImages(await readObject(c, smallBody));
  const remove = () => (read.hasInputs ? retry("remove", taskId, () => removeUnder(c.env.ASSETS, inputPrefix(taskId))) : Promise.resolve());
  try {
    const made = await create(c, read, endpoint, videoId, objectId);
    if ("preview" in made) return await answerDryRun(c, { ...made.preview, metadata: toMetadata(made.preview) });
    const { task } = made;
    c.header("location", `/v1/tasks/${task.id}`);
    c.header("retry-after", task.submission.kind === "image" ? "2" : "5");
    if (made.isReplay) {
      await remove();
      return replayed(c, submissionView(task));
    }
    c.set("task", task.id);
    return answer(c, submissionView(task));
  } catch (error) {
    // Refused: nothing stays stored. A lost answer is different: the task may exist and need its inputs.
    if (error instanceof ApiError || !read.isOffered) await remove();
    throw error;
  }
}

/**
 * Creates the task, or finds the one that the request's idempotency key belongs to. Throws if it is refused. A dry run stops before
 * anything is stored; its price is 0 where the real submission would be a replay.
 */
async function create(
  c: AppContext,
  read: LargeBody,
  endpoint: "image" | "video" | "remix",
  videoId: string | undefined,
  objectId: DurableObjectId,
): Promise<{ task: Task; isReplay: boolean } | { preview: Omit<Submission, "inputs"> }> {
  const { env } = c;
  const { accountId, token } = c.get("caller");
  const key = readIdempotencyKey(c);
  const requestFingerprint = key === undefined ? "" : await fingerprint(c.req.path, read);
  // A browser token has keys of its own: those of its account would lead to tasks that it may not see.
  const claimName = key === undefined ? undefined : await sha256Hex([accountId, ...(token ? [token.id] : []), key].join("\n"));
  // Checked first: a repeat is answered even if it would be refused by now.
  const earlier = claimName === undefined ? null : await env.CLAIMS.getByName(claimName).find(requestFingerprint);
  if (earlier === "conflict") throw new ApiError("idempotency_conflict");
  const replay = earlier && (await env.TASKS.get(toObjectId(env.TASKS, earlier.taskId)!).read(accountId));
  if (replay) return isDryRun(c) ? { preview: { ...replay.submission, price: 0 } } : { task: replay, isReplay: true };

  const { submission, references } = await check(c, read, endpoint, videoId);
  if (isDryRun(c)) return { preview: submission };
  const taskId = toTaskId(objectId);
  const bodyDigest = await digestBody(env.ASSETS, taskId, read);
  const complete: Submission = { ...submission, bodyDigest, inputs: await storeInputs(env.ASSETS, taskId, references, read) };
  read.isOffered = true;
  const made = await retry("create", taskId, async (): Promise<ClaimAnswer> =>
    claimName === undefined
      ? await env.TASKS.get(objectId).create(complete)
      : await env.CLAIMS.getByName(claimName).submit(taskId, requestFingerprint, complete),
  );
  if ("refused" in made) throw refusals[made.refused](made.until);
  return { task: made.task, isReplay: !made.created };
}

const refusals = {
  insufficient: () => new ApiError("insufficient_quota"),
  token: () => new ApiError("token_exhausted"),
  too_many: () => new ApiError("too_many_open_tasks"),
  budget: (until?: number) => budgetExceeded(until),
  unavailable: () => new ApiError("unavailable"),
  conflict: () => new ApiError("idempotency_conflict"),
};

/** All checks of a submission, before anything is reserved or stored. */
async function check(
  c: AppContext,
  read: LargeBody,
  endpoint: "image" | "video" | "remix",
  videoId: string | undefined,
): Promise<{ submission: Omit<Submission, "inputs">; references: Reference[] }> {
  const { env } = c;
  const { body } = read;
  const { accountId, keyId, scope, token } = c.get("caller");
  const parsed = parseBody(body, endpoint, isOpenAi(c.req.raw));
  const { hostname: host } = new URL(c.req.url);
  const urlRules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: [host, ...ownHosts(env)] };
  const receiver = readReceiverUrl("callback_url", body["callback_url"], urlRules);
  const kind = parsed.action as Kind;
  const isCharacter = kind === "character";
  const { references: given, violations: badImages } =
    isCharacter || kind === "remix" ? { references: [], violations: [] } : readReferences(read, parsed.model?.id ?? "", urlRules);
  const video = isCharacter && !read.upload ? readVideoUrl(body["url"], urlRules) : { violations: [] };
  const { characters, violations: badMentions } =
    endpoint === "image" || isCharacter ? { characters: [], violations: [] } : await mentionedCharacters(env, accountId, body["prompt"]);
  const told = new Set(parsed.violations.map(({ param }) => param));
  const violations = [
    ...parsed.violations,
    ...badImages.filter(({ param }) => !told.has(param)),
    ...video.violations,
    ...receiver.violations,
    ...badMentions,
    ...optionViolations(body, "task"),
  ];
  if (violations.length > 0 || !parsed.model) throw new ApiError(parsed.code, { violations });

  const { model } = parsed;
  c.set("model", model.id);
  requireScope(c.get("caller"), kind, model.id);
  const references = resolveRoles(kind, given);
  const resolved = toParameters(parsed.output);
  const size = kind === "video" && body["size"] === undefined ? resolveSize(resolved.size, references) : resolved.size;
  const parameters = { ...resolved, ...(size !== undefined && { size }) };
  const sourceId = videoId ?? parameters.from_task;
  const source = read.upload
    ? { asset: read.upload }
    : sourceId === undefined
      ? video.url !== undefined && { url: video.url }
      : await sourceFromTask(c, sourceId, videoId ? "video_id" : "from_task");
  const wanted = { kind, parameters, characters, ...(source && { source }), inputs: references };
  const routes = usableRoutes(env, model, (route) => toRequest(wanted, route), imagesField(wanted, model));
  const prices = effectivePrice(model, pricesAndRoutes(env).prices);
  const price = taskPrice(prices, kind, parameters);
  requireMaxCost(body, price);
  const route = routes[0]!;
  return {
    references,
    submission: {
      requestId: c.get("requestId"),
      base: assetBase(c),
      language: c.get("language"),
      ...(receiver.url !== undefined && { callbackUrl: receiver.url }),
      host,
      accountId,
      keyId,
      ...(token && { token: token.id }),
      ...(scope?.maxOpenTasks !== undefined && { maxKeyTasks: scope.maxOpenTasks }),
      kind,
      model: model.id,
      routes,
      parameters: withoutInlineData(parameters),
      ...(source && { source }),
      characters,
      ...(typeof body["reference"] === "string" && { reference: body["reference"] }),
      price,
      priceRule: { unit: balanceUnit(env), version: await priceVersion(env), amounts: shownPrice(prices) },
      ...(kind === "image" && { imagePrice: imagePrice(prices, parameters) }),
      typicalSeconds:
        typicalSecondsLately(c.env.DB, c.executionCtx, { kind, model: model.id, route }) ??
        providerNamed(env, route.provider).typicalSeconds?.[kind] ??
        model.typicalSeconds,
      deadlineSeconds: deadlineSeconds[kind],
    },
  };
}

/** For the receipt. Images that were taken out are read back, before those that no field names are removed. */
const digestBody = (bucket: R2Bucket, taskId: string, { sent, images }: LargeBody) =>
  digestJson(sent, images, async (index) => {
    const stored = await openAsset(bucket, extractedKey(taskId, index));
    if (!stored) throw new Error("an image of the body is gone");
    return largeReads(stored.body);
  });

/** The body's field with the images, for the error if no route can honour them. */
function imagesField(
  { parameters: p, inputs, characters }: Pick<Submission, "parameters" | "inputs" | "characters">,
  model: Model,
): string {
  if (inputs.length === 0 && characters.length > 0) return "prompt";
  if (p.image_with_roles) return "image_with_roles";
  if (!model.id.startsWith("vidD")) return "images";
  return p.last_frame_image === undefined ? "metadata.first_frame_image" : "metadata.last_frame_image";
}

/**
 * Returns the routes that can honour the request, those of unhealthy accounts last. Throws if there is none, naming the field that no
 * route can honour (`images` is the name of the caller's field), and if the first route would refuse the prompt because of its content.
 */
function usableRoutes(env: Env, model: Model, request: (route: Route) => GenerationRequest, images: string): Route[] {
  const routes = routesFor(model.id, pricesAndRoutes(env).routes, (provider) => isOn(env, provider), isLocal(env));
  const unsupported = routes.map((route) => providerNamed(env, route.provider).unsupportedField?.(request(route)));
  const usable = routes.filter((_, at) => unsupported[at] === undefined);
  const [first] = usable;
  if (!first) {
    const found = unsupported.find((field) => field !== undefined && field !== "model");
    const param = found === "images" ? images : found;
    throw param === undefined
      ? new ApiError("model_not_available", { violations: [{ param: "model", rule: "model_not_available" }] })
      : new ApiError("unsupported_parameter", { violations: [{ param, rule: "unsupported_parameter" }] });
  }
  if (providerNamed(env, first.provider).refuses?.(request(first).prompt)) throw new ApiError("content_policy_violation");
  return unhealthyLast(usable);
}

/**
 * The record's data of the images: URLs, and the bucket keys of inline ones. Images that were too small to be extracted from the
 * body are stored now; extracted ones of a field that appeared twice are deleted.
 */
async function storeInputs(bucket: R2Bucket, taskId: string, references: Reference[], read: LargeBody): Promise<Input[]> {
  read.hasInputs ||= references.some(({ inline }) => inline);
  const used = new Set(references.map(({ extracted }) => extracted));
  const unused = [...read.images.values()].filter((image) => !("problem" in image) && !used.has(image.index));
  await removeAssets(
    bucket,
    unused.map(({ index }) => extractedKey(taskId, index)),
  );
  const inputs: Input[] = [];
  // One after the other: if one fails, no other is still running, and all stored ones can be deleted.
  for (const [at, { inline, extracted, ...input }] of references.entries()) {
    const key = inline ? `${inputPrefix(taskId)}small-${at}` : extracted === undefined ? undefined : extractedKey(taskId, extracted);
    if (inline) await storeBytes(bucket, key!, inline.bytes, inline.type);
    inputs.push({ ...input, ...(key !== undefined && { key }) });
  }
  return inputs;
}
