/**
 * Omni videos by the Gemini API's interactions: generated in the background, delivered as a file that needs the key, or within the answer.
 */

import { polledVideo, lookForVideo } from "./inline-video.ts";
import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { isAboutContent, refusedPoll, refusedStart, parseRefusal } from "./errors.ts";
import { geminiFiles } from "./files.ts";
import { asList, type GoogleSettings, type Handle, parseHandle, type Part } from "./part.ts";
import { ask, readJson, jsonPost } from "../shared/http.ts";
import { allImages, fixedRatio, splitByRole } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits, secondsFrom } from "../shared/video-limits.ts";
import { blocked, ownFailure, ProviderError, type GenerationRequest } from "../provider.ts";

interface Interaction {
  id?: string | null;
  status?: string | null;
  errors?: ({ code?: string | number | null; message?: string | null } | null)[] | null;
  steps?: ({ type?: string; content?: ({ type?: string; uri?: string | null } | null)[] | null } | null)[] | null;
  usage?: { output_tokens_by_modality?: ({ modality?: string; tokens?: number } | null)[] | null } | null;
}

/** Statuses of work that ended without a video (@google/genai 3.1.0, InteractionStatus). Unknown statuses are pending. */
const failures = new Set(["failed", "cancelled", "incomplete", "budget_exceeded"]);
const toJson = (mime_type: string, data: string) => ({ type: "image", data, mime_type });

/** Omni 1.0 (`gemini-omni-flash-preview`) and 1.1 make videos of up to ten seconds, later versions of up to fifteen. */
const maxSeconds = (model: string) => (/omni-(?:flash|1\.[01])\b/.test(model) ? 10 : 15);

export function omniVideos({ key, baseUrl }: NonNullable<GoogleSettings["gemini"]>): Part {
  const headers = { "x-goog-api-key": key };
  const interactions = `${baseUrl}/v1beta/interactions`;
  const files = geminiFiles({ key, baseUrl });
  const at = ({ name }: Handle) => `${interactions}/${encodeURIComponent(name)}`;

  return {
    unsupportedField,

    async start(job, signal) {
      const { model, size, duration, resolution } = job;
      const prompt = toPrompt(job);
      const images = allImages(job);
      const earlier = job.kind === "remix" ? earlierHandle(job)?.name : undefined;
      const pieces = jsonPieces(
        images,
        (values) => ({
          model,
          input: values.length > 0 ? [...values, { type: "text", text: prompt }] : prompt,
          background: true,
          store: true,
          response_format: {
            type: "video",
            delivery: "uri",
            aspect_ratio: fixedRatio(size),
            // The field must be a string; a number is refused.
            duration: `${duration}s`,
            ...(resolution !== undefined && { resolution }),
          },
          ...(earlier === undefined
            ? { generation_config: { video_config: { task: chooseTask(job) } } }
            : { previous_interaction_id: earlier }),
        }),
        { passesUrl: () => false, toJson },
      );
      const response = await postPieces((init) => ask(globalThis, interactions, init), pieces, { headers, signal });
      if (!response.ok) return refusedStart(response, images.length > 0);
      const name = (await readJson<Interaction>(response))?.id;
      if (!name) throw new ProviderError("unclear", "start: no id in the answer");
      return { status: "accepted", operation: JSON.stringify({ part: "omni", name } satisfies Handle) };
    },

    async poll(handle) {
      const response = await ask(globalThis, at(handle), { headers });
      // An unknown id is 400 in this API, and 404 in others.
      if (!response.ok || !response.body) return refusedPoll(response);
      const answer = await lookForVideo<Interaction>(response.body);
      // The video may be in the answer although a file was requested.
      if (answer.video) return { status: "succeeded", outputs: [polledVideo(() => ask(globalThis, at(handle), { headers }))] };
      const { status, errors, steps, usage } = answer.value ?? {};
      if (failures.has(status ?? "")) {
        const isRefused = asList(errors).some((error) => isAboutContent(`${error?.code} ${error?.message}`));
        return isRefused ? blocked : ownFailure;
      }
      if (status !== "completed") return { status: "pending" };
      const output = asList(steps).findLast((step) => step?.type === "model_output");
      // Seen for videos that were made: the answer had the input only.
      if (!output && !usage) throw new ProviderError("unreachable", "poll: completed without an output");
      const made = asList(output?.content);
      const uri = made.find((content) => content?.type === "video")?.uri;
      if (uri) return files.at(uri);
      // The model refuses by answering with text. If it generated a video (its tokens are counted) and the video is missing, that is a
      // provider fault.
      const wasMade = asList(usage?.output_tokens_by_modality).some(
        (one) => one?.modality?.toLowerCase() === "video" && Number(one.tokens) > 0,
      );
      return wasMade ? ownFailure : blocked;
    },

    async cancel(handle) {
      const response = await ask(globalThis, `${at(handle)}/cancel`, jsonPost({}, headers));
      // 400 and 404: the work has ended already.
      if (!response.ok && response.status !== 400 && response.status !== 404) throw (await parseRefusal(response, "cancel")).fault;
      const answer = await readJson<Interaction>(response);
      // Work that had already ended is not cancelled: the answer has its final status.
      return response.ok && answer?.status !== "completed";
    },
  };
}

/** The interaction that created the remix's source video. */
const earlierHandle = ({ sourceOperation }: GenerationRequest): Handle | undefined => {
  const handle = sourceOperation === undefined ? undefined : parseHandle(sourceOperation);
  return handle?.part === "omni" ? handle : undefined;
};

function unsupportedField(request: GenerationRequest): string | undefined {
  const { kind, model } = request;
  if (kind !== "video" && kind !== "remix") return "model";
  if (kind === "remix" && !earlierHandle(request)) return "video_id";
  return beyondLimits(request, {
    ratios: ["16:9", "9:16", "auto"],
    seconds: secondsFrom(3, maxSeconds(model)),
    resolutions: ["720p", "1080p"],
    frames: ["first"],
    maxReferences: Infinity,
  });
}

function chooseTask(request: GenerationRequest): string {
  const { first, references } = splitByRole(request);
  if (first !== undefined) return "image_to_video";
  return references.length > 0 ? "reference_to_video" : "text_to_video";
}
