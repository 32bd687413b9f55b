/** Veo videos on Vertex AI: long-running operations that answer with the video in base64. */

import { polledVideo, lookForVideo } from "./inline-video.ts";
import { withToken } from "./auth.ts";
import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { isAboutContent, isAboutImage, refusedPoll, refusedStart } from "./errors.ts";
import type { GoogleSettings, Handle, Part } from "./part.ts";
import { allImages, fixedRatio, splitByRole } from "../shared/frames.ts";
import { toPrompt } from "../shared/prompt.ts";
import { ask, readJson, jsonPost, laterFault } from "../shared/http.ts";
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
const maxReferences = 3;

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
      const { kind, size, duration, resolution, watermark } = request;
      const { first, last, references } = splitByRole(request);
      if (kind !== "video") return "model";
      if (size !== "16:9" && size !== "9:16" && size !== "auto") return "size";
      if (duration !== seconds) return "duration";
      if (resolution !== undefined && !["720p", "1080p"].includes(resolution)) return "metadata.resolution";
      if (last !== undefined && first === undefined) return "images";
      if (references.length > maxReferences || (references.length > 0 && first !== undefined)) return "images";
      return watermark ? "metadata.watermark" : undefined;
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
      const { first, last } = splitByRole(job);
      const pieces = jsonPieces(
        images,
        (values) => ({
          instances: [
            {
              prompt: toPrompt(job),
              ...(first === undefined
                ? values.length > 0 && { referenceImages: values.map((image) => ({ image, referenceType: "asset" })) }
                : { image: values[first], ...(last !== undefined && { lastFrame: values[last] }) }),
            },
          ],
          parameters,
        }),
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
