/** Films in OpenAI's `/v1/videos` format. The maker shut its own down on 2026-09-24 (developers.openai.com); others serve theirs by it. */

import { ask, toFault, readJson, laterFault } from "../shared/http.ts";
import { type Piece, postPieces } from "../shared/openai-body.ts";
import { contentBehindKey } from "../shared/openai-content.ts";
import { isContentCode, refused } from "./errors.ts";
import { type FilmFacts, requestFacts } from "./video-request.ts";
import type { Upstream } from "./upstream.ts";
import { promptWithNames } from "../shared/prompt.ts";
import { type Accepted, type Failed, type Job, type Pending, ProviderError, type Succeeded } from "../provider.ts";

/** What is kept of a film that was accepted. */
export interface FilmOperation extends FilmFacts {
  id: string;
  thumbnail?: true;
}

/** `Video` in openai 7.55.0; whatever is missing elsewhere is missing here. */
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

/** When the clocks of two machines agree. */
const clocksMs = 5_000;
const lookupMs = 10_000;
/** For the submission itself; the lookup after it has its own. */
const submitMs = 75_000;
export const filmStartMs = submitMs + lookupMs + 5_000;

/** A style has no field here; a few words of prompt are as near as it gets. */
const toPrompt = (job: Job) => promptWithNames(job) + (job.style === undefined ? "" : `\n\nStyle: ${job.style}.`);

export async function startFilm(
  job: Job,
  source: FilmOperation | undefined,
  signal: AbortSignal,
  upstream: Upstream,
): Promise<Accepted | Failed> {
  const askedAt = Date.now();
  const facts = job.kind === "remix" && source ? { model: source.model, seconds: source.seconds, size: source.size } : requestFacts(job);
  const accepted = (id: string): Accepted => ({
    status: "accepted",
    operation: JSON.stringify({ id, ...facts, ...(job.thumbnail && { thumbnail: true }) } satisfies FilmOperation),
  });
  try {
    const response = await submit(job, facts, source, AbortSignal.any([signal, AbortSignal.timeout(submitMs)]), upstream);
    if (!response.ok) return await refused(response, "start");
    const video = await readJson<WireVideo>(response);
    if (typeof video?.id !== "string") throw new ProviderError("start: no id", { retryable: false });
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
  facts: FilmFacts,
  source: FilmOperation | undefined,
  signal: AbortSignal,
  { base, headers }: Upstream,
): Promise<Response> {
  const prompt = toPrompt(job);
  if (job.kind === "remix") {
    if (!source) throw new ProviderError("start: no source", { retryable: false, nothingAccepted: true });
    return postPieces(`${base}/videos/${encodeURIComponent(source.id)}/remix`, headers, [JSON.stringify({ prompt })], signal);
  }
  // openai 7.55.0 does not type the characters; its maker's guide to video generation has them.
  const characters = job.characters.map(({ handle }) => ({ id: handle }));
  const fields = JSON.stringify({
    model: facts.model,
    prompt,
    seconds: facts.seconds,
    size: facts.size,
    ...(characters.length > 0 && { characters }),
  });
  const [image] = job.images;
  const pieces: Piece[] = image ? [`${fields.slice(0, -1)},"input_reference":{"image_url":`, image, "}}"] : [fields];
  return postPieces(`${base}/videos`, headers, pieces, signal);
}

/**
 * The film that a submission without an answer made after all: the only one in the list that fits it. None is no proof that
 * there will be none, for the request may be under way and the list behind, so nothing is ever submitted again. With
 * pictures a film of somebody else's picture could fit: there is no looking then.
 */
async function lookUp(
  job: Job,
  facts: FilmFacts,
  source: FilmOperation | undefined,
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
    return fitting.length === 1 ? (fitting[0]!.id ?? undefined) : undefined;
  } catch {
    // The submission's own fault is told instead.
    return undefined;
  }
}

const toFailure = (video: WireVideo): Failed => ({
  status: "failed",
  code: isContentCode(video.error?.code) ? "content_policy_violation" : "provider_error",
});

export async function pollFilm({ id, thumbnail }: FilmOperation, { base, headers }: Upstream): Promise<Pending | Succeeded | Failed> {
  const url = `${base}/videos/${encodeURIComponent(id)}`;
  const response = await ask(globalThis, url, { headers });
  if (!response.ok) {
    await response.body?.cancel();
    if ([400, 404, 410].includes(response.status)) return { status: "failed", code: "provider_error" };
    throw laterFault(toFault(response, "poll"), true);
  }
  const video = await readJson<WireVideo>(response);
  if (!video) throw new ProviderError("poll: not an answer", { retryable: true });
  if (video.status === "failed") return toFailure(video);
  if (video.status === "completed") {
    const still = thumbnail && { thumbnail: contentBehindKey(`${url}/content?variant=thumbnail`, headers) };
    return { status: "succeeded", outputs: [{ ...contentBehindKey(`${url}/content`, headers), ...still }] };
  }
  const progress = Number(video.progress ?? Number.NaN);
  return { status: "pending", ...(Number.isFinite(progress) && { progress: Math.min(99, Math.max(0, progress)) }) };
}
