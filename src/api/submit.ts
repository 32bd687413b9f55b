/** A submission on its way from the body to a task: checked whole, priced, then created in one call. */

import { removeAssets, inputPrefix, storeBytes } from "../assets.ts";
import type { Kind, Model } from "../catalog/models.ts";
import { deadlineSeconds } from "../catalog/models.ts";
import { parametersOf, parseBody } from "../catalog/parse.ts";
import { imagePrice, priceOf, taskPrice } from "../catalog/prices.ts";
import { type Route, routesFor } from "../catalog/routes.ts";
import { allowsPrivateNetwork, tablesOf } from "../config.ts";
import { ApiError } from "../errors.ts";
import { objectIdOf, sha256Hex, taskIdOf } from "../ids.ts";
import { isOn, providerNamed } from "../providers/index.ts";
import type { ClaimAnswer } from "../tasks/claim-object.ts";
import type { Input, Submission } from "../tasks/task.ts";
import { largeBody, readJson, smallBody } from "./body.ts";
import { type AppContext, answer } from "./frame.ts";
import { canonicalJson, idempotencyKeyOf, replayed } from "./idempotency.ts";
import { mentionedCharacters } from "./mentions.ts";
import { callbackViolations, type Reference, readReferences, readVideoUrl, withoutInlineData } from "./references.ts";
import { sourceFromTask } from "./source.ts";
import { submissionView } from "./views.ts";

/** Answers a submission of an image, a video or character, or a remix of the task `videoId`. */
export async function submit(c: AppContext, endpoint: "image" | "video"): Promise<Response>;
export async function submit(c: AppContext, endpoint: "remix", videoId: string): Promise<Response>;
export async function submit(c: AppContext, endpoint: "image" | "video" | "remix", videoId?: string): Promise<Response> {
  const body = await readJson(c, endpoint === "remix" ? smallBody : largeBody);
  const key = idempotencyKeyOf(c);
  const fingerprint = key && (await sha256Hex(`${c.req.path}\n${canonicalJson(body)}`));
  const claim = key ? c.env.CLAIMS.getByName(await sha256Hex(`${c.get("caller").accountId}\n${key}`)) : undefined;
  const earlier = claim && (await claim.find(fingerprint!));
  if (earlier === "conflict") throw new ApiError("idempotency_conflict");
  if (earlier) {
    const task = await c.env.TASKS.get(objectIdOf(c.env.TASKS, earlier.taskId)!).read(c.get("caller").accountId);
    if (task) return replayed(c, submissionView(task));
  }

  const { submission, references } = await check(c, body, endpoint, videoId);
  const objectId = c.env.TASKS.newUniqueId();
  const taskId = taskIdOf(objectId);
  const inputs = await storeInputs(c.env.ASSETS, taskId, references);
  const stored = inputs.flatMap((input) => input.key ?? []);
  try {
    const complete: Submission = { ...submission, inputs };
    const made: ClaimAnswer = claim ? await claim.submit(taskId, fingerprint!, complete) : await c.env.TASKS.get(objectId).create(complete);
    if ("refused" in made) throw refusals[made.refused]();
    c.set("task", made.task.id);
    if (!made.created) {
      await removeAssets(c.env.ASSETS, stored);
      return replayed(c, submissionView(made.task));
    }
    return answer(c, submissionView(made.task));
  } catch (error) {
    // Refused: nothing of it stays. An answer that got lost is different: the task may exist and need its inputs.
    if (error instanceof ApiError) await removeAssets(c.env.ASSETS, stored);
    throw error;
  }
}

const refusals = {
  insufficient: () => new ApiError("insufficient_quota"),
  unavailable: () => new ApiError("unavailable"),
  conflict: () => new ApiError("idempotency_conflict"),
};

/** Everything that can be wrong with a submission is found here, before anything is reserved or stored. */
async function check(
  c: AppContext,
  body: Record<string, unknown>,
  endpoint: "image" | "video" | "remix",
  videoId: string | undefined,
): Promise<{ submission: Omit<Submission, "inputs">; references: Reference[] }> {
  const { env } = c;
  const { accountId, keyId } = c.get("caller");
  const parsed = parseBody(body, endpoint);
  const urlRules = { allowPrivate: allowsPrivateNetwork(env), ownHosts: [new URL(c.req.url).hostname] };
  const kind = parsed.action as Kind;
  const isCharacter = kind === "character";
  const { references, violations: badImages } =
    isCharacter || kind === "remix" ? { references: [], violations: [] } : readReferences(body, parsed.model?.id ?? "", urlRules);
  const film = isCharacter ? readVideoUrl(body["url"], urlRules) : { violations: [] };
  const { characters, violations: badMentions } =
    endpoint === "image" || isCharacter ? { characters: [], violations: [] } : await mentionedCharacters(env, accountId, body["prompt"]);
  const told = new Set(parsed.violations.map(({ param }) => param));
  const violations = [
    ...parsed.violations,
    ...badImages.filter(({ param }) => !told.has(param)),
    ...film.violations,
    ...callbackViolations(body["callback_url"], urlRules),
    ...badMentions,
  ];
  if (violations.length > 0 || !parsed.model) throw new ApiError(parsed.code, { violations });

  const { model } = parsed;
  c.set("model", model.id);
  const parameters = parametersOf(parsed.output);
  const sourceId = videoId ?? parameters.from_task;
  const source =
    sourceId === undefined
      ? film.url !== undefined && { url: film.url }
      : await sourceFromTask(c, sourceId, videoId ? "video_id" : "from_task");
  const routes = usableRoutes(env, model, parameters.prompt ?? "");
  const prices = priceOf(model, tablesOf(env).prices);
  return {
    references,
    submission: {
      requestId: c.get("requestId"),
      accountId,
      keyId,
      kind,
      model: model.id,
      routes,
      parameters: withoutInlineData(parameters),
      ...(source && { source }),
      characters,
      price: taskPrice(prices, kind, parameters),
      ...(kind === "image" && { imagePrice: imagePrice(prices, parameters) }),
      typicalSeconds: providerNamed(env, routes[0]!.provider).typicalSeconds?.[kind] ?? model.typicalSeconds,
      deadlineSeconds: deadlineSeconds[kind],
    },
  };
}

/** The routes that can take the prompt. A verdict on its content is the caller's to hear; no route is not. */
export function usableRoutes(env: Env, model: Model, prompt: string): Route[] {
  const routes = routesFor(model.id, tablesOf(env).routes, (provider) => isOn(env, provider));
  const [first] = routes;
  if (!first) throw new ApiError("model_not_available", { violations: [{ param: "model", rule: "model_not_available" }] });
  if (providerNamed(env, first.provider).refuses?.(prompt)) throw new ApiError("content_policy_violation");
  return routes;
}

/** Inline images go to R2 under the task's name before the task exists; the record keeps only their keys. */
async function storeInputs(bucket: R2Bucket, taskId: string, references: Reference[]): Promise<Input[]> {
  return Promise.all(
    references.map(async ({ inline, ...input }, at): Promise<Input> => {
      if (!inline) return input;
      const key = `${inputPrefix(taskId)}${at}`;
      await storeBytes(bucket, key, inline.bytes, inline.type);
      return { ...input, key };
    }),
  );
}
