/** Veo videos on Vertex AI: long-running operations that answer with the video in base64. */

import { polledVideo, lookForVideo } from "./inline-video.ts";
import { withToken } from "./auth.ts";
import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { isAboutContent, isAboutImage, refusedPoll, refusedStart } from "./errors.ts";
import type { GoogleSettings, Handle, Part } from "./part.ts";
import { ask, readJson, jsonPost, laterFault } from "../shared/http.ts";
import { allImages, byRole, fixedRatio } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits } from "../shared/video-limits.ts";
import { badInput, blocked, type Failed, ownFailure, ProviderError } from "../provider.ts";

interface Operation {
  done?: boolean | null;
  error?: { code?: number | string | null; message?: string | null } | null;
  response?: { raiMediaFilteredCount?: number | string | null; raiMediaFilteredReasons?: unknown[] | null } | null;
}

/** `google.rpc.Code` for a fault that the request caused. */
const invalidArgument = 3;
const seconds = 8;
// @google/genai 3.1.0, converters of Image to Vertex.
const toJson = (mimeType: string, data: string) => ({ bytesBase64Encoded: data, mimeType });

export function veoVideos({ serviceAccount, baseUrl }: NonNullable<GoogleSettings["vertex"]>): Part {
  const modelUrl = (model: string) => `${baseUrl}/publishers/google/models/${encodeURIComponent(model)}`;
  const fetchOperation = ({ name, model }: Handle) =>
    withToken(serviceAccount, (headers) =>
      ask(globalThis, `${modelUrl(model!)}:fetchPredictOperation`, jsonPost({ operationName: name }, headers)),
    ).catch((error: unknown) => {
      throw error instanceof ProviderError ? laterFault(error) : error;
    });

  return {
    unsupportedField(request) {
      if (request.kind !== "video") return "model";
      return beyondLimits(request, {
        ratios: ["16:9", "9:16", "auto"],
        seconds: [seconds],
        resolutions: ["720p", "1080p"],
        frames: ["first", "pair"],
        maxReferences: 3,
        promptOptimizer: true,
      });
    },

    async start(job, signal) {
      const { model, resolution } = job;
      const images = allImages(job);
      const parameters = {
        sampleCount: 1,
        durationSeconds: seconds,
        aspectRatio: fixedRatio(job.size),
        generateAudio: true,
        ...(resolution !== undefined && { resolution }),
      };
      const pieces = jsonPieces(
        images,
        (values) => {
          const { first, last, references } = byRole(job, values);
          const referenceImages = references.map((image) => ({ image, referenceType: "asset" }));
          const instance = {
            prompt: toPrompt(job),
            ...(first !== undefined && { image: first, lastFrame: last }),
            ...(references.length > 0 && { referenceImages }),
          };
          return { instances: [instance], parameters };
        },
        { passesUrl: () => false, toJson },
      );
      const response = await withToken(serviceAccount, (headers) =>
        postPieces((init) => ask(globalThis, `${modelUrl(model)}:predictLongRunning`, init), pieces, { headers, signal }),
      );
      if (!response.ok) return refusedStart(response, images.length > 0);
      const name = (await readJson<{ name?: string }>(response))?.name;
      if (!name) throw new ProviderError("unclear", "start: no operation in the answer");
      return { status: "accepted", operation: JSON.stringify({ part: "veo", name, model } satisfies Handle) };
    },

    async poll(handle) {
      const response = await fetchOperation(handle);
      if (!response.ok || !response.body) return refusedPoll(response);
      const answer = await lookForVideo<Operation>(response.body);
      if (answer.video) return { status: "succeeded", outputs: [polledVideo(() => fetchOperation(handle))] };
      const { done, error, response: result } = answer.value ?? {};
      if (!done) return { status: "pending" };
      if (error) return toFailure(error);
      const isFiltered = Number(result?.raiMediaFilteredCount ?? 0) > 0 || (result?.raiMediaFilteredReasons?.length ?? 0) > 0;
      return isFiltered ? blocked : ownFailure;
    },
  };
}

function toFailure({ code, message }: NonNullable<Operation["error"]>): Failed {
  const text = message ?? "";
  if (isAboutContent(text)) return blocked;
  // The gateway sets the other arguments: another route may succeed.
  return Number(code) === invalidArgument && isAboutImage(text) ? badInput : ownFailure;
}
