/** Videos in OpenAI's `/v1/videos` format. OpenAI shut its own down on 2026-09-24 (developers.openai.com); other upstreams use the format. */

import { ask, jsonPost, laterFault, outputBehindKey, readJson, toFault } from "../shared/http.ts";
import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { isContentCode, readRefusal } from "./errors.ts";
import { type VideoFacts, requestFacts } from "./video-request.ts";
import type { Upstream } from "./upstream.ts";
import { toPrompt } from "../shared/prompt.ts";
import { type Accepted, type Failed, type Job, type Pending, ProviderError, type Succeeded } from "../provider.ts";

/** The operation of an accepted video. */
export interface VideoOperation extends VideoFacts {
  id: string;
  thumbnail?: true;
}

/** `Video` in openai 7.55.0; other upstreams may leave out any field. */
interface WireVideo {
  id?: string | null;
  status?: string | null;
  progress?: number | string | null;
  created_at?: number | string | null;
  model?: string | null;
  prompt?: string | null;
  seconds?: string | number | null;
  size?: string | null;
  remixed_from_video_id?: string | null;
  error?: { code?: string | null } | null;
}

/** The maximum difference between the two clocks. */
const clocksMs = 5_000;
const lookupMs = 10_000;
/** The time limit of the submission itself; the look-up after it has its own. */
const submitMs = 75_000;
export const videoStartMs = submitMs + lookupMs + 5_000;

export async function startVideo(
  job: Job,
  source: VideoOperation | undefined,
  signal: AbortSignal,
  upstream: Upstream,
): Promise<Accepted | Failed> {
  const askedAt = Date.now();
  const facts = job.kind === "remix" && source ? { model: source.model, seconds: source.seconds, size: source.size } : requestFacts(job);
  const accepted = (id: string): Accepted => ({
    status: "accepted",
    operation: JSON.stringify({ id, ...facts, ...(job.thumbnail && { thumbnail: true }) } satisfies VideoOperation),
  });
  try {
    const response = await submit(job, facts, source, AbortSignal.any([signal, AbortSignal.timeout(submitMs)]), upstream);
    if (!response.ok) return await readRefusal(response, "start");
    const video = await readJson<WireVideo>(response);
    if (typeof video?.id !== "string") throw new ProviderError("unclear", "start: no id");
    return video.status === "failed" ? toFailure(video) : accepted(video.id);
  } catch (fault) {
    if (!(fault instanceof ProviderError) || fault.nothingAccepted) throw fault;
    const id = await lookUp(job, facts, source, askedAt, upstream);
    if (id === undefined) throw fault;
    return accepted(id);
  }
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
    if (!source) throw new ProviderError("refused", "start: no source");
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

/**
 * Finds the video of a submission whose answer was lost: the only one in the list that matches. If none matches, the request may still be
 * running, so nothing is submitted again. With images this returns undefined, because a video from another image could match.
 */
async function lookUp(
  job: Job,
  facts: VideoFacts,
  source: VideoOperation | undefined,
  askedAt: number,
  { base, headers }: Upstream,
): Promise<string | undefined> {
  if (job.images.length > 0) return undefined;
  try {
    const signal = AbortSignal.timeout(lookupMs);
    const response = await ask(globalThis, `${base}/videos?limit=100&order=desc`, { headers, signal });
    if (!response.ok) {
      await response.body?.cancel();
      return undefined;
    }
    const list = await readJson<{ data?: WireVideo[] | null }>(response);
    const fitting = (list?.data ?? []).filter(
      (video) =>
        Number(video.created_at) * 1000 >= askedAt - clocksMs &&
        video.prompt === toPrompt(job) &&
        video.model === facts.model &&
        String(video.seconds) === facts.seconds &&
        video.size === facts.size &&
        (video.remixed_from_video_id ?? undefined) === source?.id,
    );
    return fitting.length === 1 ? (fitting[0]?.id ?? undefined) : undefined;
  } catch {
    // The submission's own fault is reported instead.
    return undefined;
  }
}

const toFailure = (video: WireVideo): Failed => ({
  status: "failed",
  code: isContentCode(video.error?.code) ? "content_policy_violation" : "provider_error",
});

export async function pollVideo({ id, thumbnail }: VideoOperation, { base, headers }: Upstream): Promise<Pending | Succeeded | Failed> {
  const url = `${base}/videos/${encodeURIComponent(id)}`;
  const response = await ask(globalThis, url, { headers });
  if (!response.ok) {
    await response.body?.cancel();
    if ([400, 404, 410].includes(response.status)) return { status: "failed", code: "provider_error" };
    throw laterFault(toFault(response, "poll"), true);
  }
  const video = await readJson<WireVideo>(response);
  if (!video) throw new ProviderError("unreachable", "poll: not an answer");
  if (video.status === "failed") return toFailure(video);
  if (video.status === "completed") {
    const still = thumbnail && { thumbnail: outputBehindKey(`${url}/content?variant=thumbnail`, headers) };
    return { status: "succeeded", outputs: [{ ...outputBehindKey(`${url}/content`, headers), ...still }] };
  }
  const progress = Number(video.progress ?? Number.NaN);
  return { status: "pending", ...(Number.isFinite(progress) && { progress: Math.min(99, Math.max(0, progress)) }) };
}
