/** Videos in OpenAI's `/v1/videos` format. OpenAI shut its own down on 2026-09-24 (developers.openai.com); other upstreams use the format. */

import { ask, jsonPost, outputBehindKey, readJson, refusedPoll } from "../shared/http.ts";
import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { readRefusal, toFailure, type WireError } from "./errors.ts";
import { type VideoFacts, requestFacts } from "./video-request.ts";
import type { Upstream } from "./upstream.ts";
import { toPrompt } from "../shared/prompt.ts";
import { type Accepted, type Failed, type Job, type Pending, ProviderError, type Succeeded } from "../provider.ts";

export interface VideoOperation extends VideoFacts {
  id: string;
  thumbnail?: true;
}

/** `Video` in openai 7.55.0; other upstreams may leave out any field. */
interface WireVideo extends WireError {
  id?: string | null;
  status?: string | null;
  progress?: number | string | null;
}

/** Videos that ended without a file; the last two are other upstreams' words. */
const failures = new Set(["failed", "cancelled", "expired"]);

export const videoStartMs = 80_000;

/** A start whose answer is lost is not looked up: nothing in the list of videos is unique to the task, and an equal one may be another caller's. */
export async function startVideo(
  job: Job,
  source: VideoOperation | undefined,
  signal: AbortSignal,
  upstream: Upstream,
): Promise<Accepted | Failed> {
  const facts = job.kind === "remix" && source ? { model: source.model, seconds: source.seconds, size: source.size } : requestFacts(job);
  const response = await submit(job, facts, source, signal, upstream);
  if (!response.ok) return readRefusal(response, job.kind === "remix" ? "remix" : "start");
  const video = await readJson<WireVideo>(response);
  if (video?.error || failures.has(video?.status ?? "")) return toFailure(video?.error);
  if (typeof video?.id !== "string" || video.id === "") throw new ProviderError("unclear", "start: the answer has no id");
  const operation: VideoOperation = { id: video.id, ...facts, ...(job.thumbnail && { thumbnail: true }) };
  return { status: "accepted", operation: JSON.stringify(operation) };
}

function submit(
  job: Job,
  facts: VideoFacts,
  source: VideoOperation | undefined,
  signal: AbortSignal,
  { base, headers }: Upstream,
): Promise<Response> {
  const prompt = toPrompt(job);
  if (job.kind === "remix") {
    if (!source) throw new ProviderError("refused", "start: a remix without the operation of its source video");
    return ask(globalThis, `${base}/videos/${encodeURIComponent(source.id)}/remix`, { ...jsonPost({ prompt }, headers), signal });
  }
  // openai 7.55.0 has no type for `characters`; OpenAI's guide to video generation documents the field.
  const characters = job.characters.map(({ handle }) => ({ id: handle }));
  const { model, seconds, size } = facts;
  const toBody = ([image_url]: string[]) => ({
    model,
    prompt,
    seconds,
    size,
    ...(characters.length > 0 && { characters }),
    ...(image_url !== undefined && { input_reference: { image_url } }),
  });
  const pieces = jsonPieces(job.images, toBody, { passesUrl: (url) => url.startsWith("https://") });
  return postPieces((init) => ask(globalThis, `${base}/videos`, init), pieces, { headers, signal });
}

export async function pollVideo({ id, thumbnail }: VideoOperation, { base, headers }: Upstream): Promise<Pending | Succeeded | Failed> {
  const url = `${base}/videos/${encodeURIComponent(id)}`;
  const response = await ask(globalThis, url, { headers });
  if (!response.ok) return refusedPoll(response);
  const video = await readJson<WireVideo>(response);
  if (!video) throw new ProviderError("unreachable", "poll: the answer is not JSON");
  if (failures.has(video.status ?? "")) return toFailure(video.error);
  if (video.status === "completed") {
    const still = thumbnail && { thumbnail: outputBehindKey(`${url}/content?variant=thumbnail`, headers) };
    return { status: "succeeded", outputs: [{ ...outputBehindKey(`${url}/content`, headers), ...still }] };
  }
  const progress = Number(video.progress ?? Number.NaN);
  return { status: "pending", ...(Number.isFinite(progress) && { progress: Math.min(99, Math.max(0, progress)) }) };
}
