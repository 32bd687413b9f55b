/** Replicate's predictions: created by model name, polled, cancelled; several images are several predictions with most models. */

import { bearerCall, toFault, readJson, laterFault, outputAt, toOutput, makeSeveral } from "../shared/http.ts";
import { allImages } from "../shared/frames.ts";
import { fetchedKeys } from "../shared/callbacks.ts";
import { countPredictions, imageOutputs, modelId, toInput, unsupportedField } from "./inputs.ts";
import { leftBy, type Prediction } from "./lookup.ts";
import {
  ownFailure,
  unknownWork,
  blocked,
  type Accepted,
  type Failed,
  type Job,
  type Output,
  type Provider,
  ProviderError,
} from "../provider.ts";
import { readOwnAnswer, writeOwnInput } from "../shared/own-input.ts";
import { lookUp } from "../shared/listed.ts";
import { isSignedBy } from "./webhook.ts";

/** The limit of the official client for images within a request (replicate 1.4.0, `MAX_DATA_URI_SIZE`). */
const maxInlineBytes = 10_000_000;
/**
 * Seedance's error says "flagged as sensitive (E005)", others mention their content policy or NSFW; there is no code (replicate.com/docs).
 */
const contentPolicy = /flagged|sensitive|\bE005\b|nsfw|content policy/i;

export function replicate({ token, base = "https://api.replicate.com/v1" }: { token: string; base?: string | undefined }): Provider {
  const call = bearerCall(base, token);
  const predictionPath = (id: string) => `/predictions/${encodeURIComponent(id)}`;

  /** Throws a retryable fault if the answer has no id: the prediction may have been created. */
  async function create(model: string, body: string, signal: AbortSignal): Promise<string> {
    const headers = { "content-type": "application/json" };
    const response = await call(`/models/${model}/predictions`, { method: "POST", headers, body, signal });
    if (!response.ok) throw await parseRefusal(response, "start");
    const id = (await readJson<Prediction>(response))?.id;
    if (!id) throw new ProviderError("unreachable", "start: the answer has no id");
    return id;
  }

  async function listed(cursor: string | undefined, signal: AbortSignal) {
    const response = await call(cursor === undefined ? "/predictions" : `/predictions?cursor=${encodeURIComponent(cursor)}`, { signal });
    const page = response.ok ? await readJson<{ results?: Prediction[]; next?: string | null }>(response) : undefined;
    if (page?.results) return page;
    const refusal = await parseRefusal(response, "list");
    // Thrown for every error of the list: the earlier submission may have been accepted.
    if (refusal.account) throw new ProviderError("accountUnclear", refusal.message);
    throw laterFault(refusal, refusal.retryable || response.ok);
  }

  const fetchSecret = () => call("/webhooks/default/secret");

  return {
    name: "replicate",
    repeatable: true,
    reportsProgress: false,
    takesOwnInput: true,
    startTimeoutMs: (kind) => (kind === "image" ? 45_000 : 60_000),
    unsupportedField,
    imageOutputs,
    lookUpModel: (model) => lookUp(`${base}/models/${model}`, { authorization: `Bearer ${token}` }),

    async start(job, signal) {
      const { model, askedAt, callbackUrl } = job;
      const isOwn = job.input !== undefined;
      if (isOwn && !modelId.test(model)) throw new ProviderError("model", "start: the model's name is not owner/name");
      const n = isOwn ? 1 : countPredictions(job);
      const urls = await imageUrls(job);
      const input = isOwn ? await writeOwnInput(job, async (image) => urls[job.images.indexOf(image)] ?? "") : toInput(job, urls);
      const accepted = (ids: string[]): Accepted => ({ status: "accepted", operation: JSON.stringify(isOwn ? { own: ids } : ids) });
      const asked = askedAt !== undefined && { model, input, n, askedAt, webhook: callbackUrl };
      const left = asked && (await leftBy(asked, (cursor) => listed(cursor, signal)));
      if (left) return accepted(left);
      const body = JSON.stringify({ input, webhook: callbackUrl, webhook_events_filter: callbackUrl && ["completed"] });
      const made = await makeSeveral(n, () => create(model, body, signal));
      return Array.isArray(made) ? accepted(made) : made;
    },

    /** Stops at the first prediction that has not ended: the following ones are polled later. */
    async poll(operation) {
      const outputs: Output[] = [];
      let seconds: number | undefined = 0;
      let failure: Failed = ownFailure;
      const { ids, isOwn } = readOperation(operation);
      for (const id of ids) {
        const response = await call(predictionPath(id));
        const isGone = [400, 404, 410].includes(response.status);
        if (!response.ok && !isGone) {
          // Accepted work stays accepted, whatever error the account has now.
          throw laterFault(await parseRefusal(response, "poll"), true);
        }
        const prediction = await readJson<Prediction>(response);
        if (isGone) {
          // How long it worked can no longer be learned.
          seconds = undefined;
          if (failure === ownFailure) failure = unknownWork;
          continue;
        }
        if (!prediction) throw new ProviderError("unreachable", "poll: the answer is not JSON");
        const time = readTime(prediction);
        seconds = seconds !== undefined && time !== undefined ? seconds + time : undefined;
        switch (prediction.status) {
          case "succeeded":
            // A file may be named by nothing but its URL.
            if (isOwn) return { ...readOwnAnswer(prediction.output, { takesTexts: true }), usage: { seconds } };
            outputs.push(...toOutputs(prediction.output));
            break;
          case "failed":
            if (contentPolicy.test(toText(prediction.error))) failure = blocked;
            break;
          case "canceled":
            if (failure === ownFailure) failure = stoppedWork;
            break;
          case "aborted":
            break;
          default:
            return { status: "pending" };
        }
      }
      const usage = { usage: { seconds } };
      return outputs.length > 0 ? { status: "succeeded", outputs, ...usage } : { ...failure, ...usage };
    },

    async readCallback(request) {
      const secret = await fetchedKeys("replicate", fetchSecret, ({ key }) => (typeof key === "string" ? key : undefined));
      return isSignedBy(secret, request);
    },

    async cancel(operation) {
      let isStopped = true;
      let seconds: number | undefined = 0;
      for (const id of readOperation(operation).ids) {
        const response = await call(`${predictionPath(id)}/cancel`, { method: "POST" });
        const prediction = await readJson<Prediction>(response);
        if (!response.ok && response.status !== 404) throw toFault(response, "cancel");
        // An image that is made is billed, although the others are stopped.
        if (!response.ok || prediction?.status === "succeeded") isStopped = false;
        const time = prediction?.status === "failed" ? 0 : readTime(prediction);
        seconds = seconds !== undefined && time !== undefined ? seconds + time : undefined;
      }
      return isStopped && seconds !== 0 ? { ...stoppedWork, usage: { seconds } } : isStopped;
    },
  };
}

/** Stopped work is billed for the time that it ran, and not at all if it had not started ("aborted" at its deadline; replicate.com/docs, prediction lifecycle). */
const stoppedWork: Failed = { ...ownFailure, billed: { isStopped: true } };

/** The seconds for which a prediction ran; undefined if it started and does not say. */
function readTime({ metrics, started_at, status }: Prediction = {}): number | undefined {
  const { predict_time: time } = metrics ?? {};
  if (typeof time === "number") return time;
  return status === "aborted" || (status === "canceled" && !started_at) ? 0 : undefined;
}

/** The predictions of an operation, and whether they are one with an own input. */
function readOperation(operation: string): { ids: string[]; isOwn: boolean } {
  const read = JSON.parse(operation) as string[] | { own: string[] };
  return Array.isArray(read) ? { ids: read, isOwn: false } : { ids: read.own, isOwn: true };
}

const toText = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** Reads a refusal. The end of a rate limit may be only in its text, `Your rate limit resets in ~30s.` (replicate.com/docs). */
async function parseRefusal(response: Response, step: string): Promise<ProviderError> {
  const body = response.bodyUsed ? undefined : await readJson<{ detail?: unknown } | null>(response);
  const [, seconds] = /resets in ~?(\d+)\s*s/i.exec(toText(body?.detail)) ?? [];
  const headers = new Headers(response.headers);
  if (seconds !== undefined && !headers.has("retry-after")) headers.set("retry-after", seconds);
  return toFault({ status: response.status, headers }, step);
}

/** The request's images, then those of its characters: URLs unchanged, other images as data URIs. */
async function imageUrls(job: Job): Promise<string[]> {
  const urls: string[] = [];
  let inlineBytes = 0;
  for (const image of allImages(job)) {
    if (image.url !== undefined) {
      urls.push(image.url);
      continue;
    }
    const url = await image.read(async ({ bytes, type }) => {
      inlineBytes += bytes.byteLength;
      if (inlineBytes > maxInlineBytes)
        throw new ProviderError(
          job.askedAt === undefined ? "refused" : "unclear",
          "start: the inline images have more than 10 MB together",
        );
      return `data:${type};base64,${bytes.toBase64()}`;
    });
    urls.push(url);
  }
  return urls;
}

/** Reads the files of a prediction: one URL or a list of them, downloaded without our token, or data URIs for small files. */
function toOutputs(output: unknown): Output[] {
  return [output].flat().flatMap((file) => {
    if (typeof file !== "string") return [];
    const [, base64] = /^data:[^;,]+;base64,(.+)$/s.exec(file) ?? [];
    if (base64 !== undefined) return toOutput(base64) ?? [];
    return /^https?:/.test(file) ? [outputAt(file)] : [];
  });
}
