/** Veo films on Vertex AI: long-running operations that answer with the film in base64. */

import { filmIn, lookForFilm } from "./inline-video.ts";
import { withToken } from "./auth.ts";
import { postWithPictures, type PictureShape } from "../shared/google-body.ts";
import { isAboutContent, refusedPoll, refusedStart } from "./errors.ts";
import type { GoogleSettings, Handle, Part } from "./part.ts";
import { promptWithNames } from "../shared/prompt.ts";
import { ask, toFault, readJson, jsonPost, laterFault } from "../shared/http.ts";
import { type Accepted, type Failed, type Output, type Pending, ProviderError, type Succeeded } from "../provider.ts";

interface Operation {
  done?: boolean | null;
  error?: { code?: number | string | null; message?: string | null } | null;
  response?: { raiMediaFilteredCount?: number | string | null; raiMediaFilteredReasons?: unknown[] | null } | null;
}

/** `google.rpc.Code`: the request was at fault. */
const invalidArgument = 3;
const seconds = 8;
// @google/genai 3.1.0, converters of Image to Vertex.
const shape: PictureShape = (mimeType, data) => ({ bytesBase64Encoded: data, mimeType });

export function veoFilms({ serviceAccount, baseUrl }: NonNullable<GoogleSettings["vertex"]>): Part {
  const modelUrl = (model: string) => `${baseUrl}/publishers/google/models/${encodeURIComponent(model)}`;
  const fetchOperation = ({ name, model }: Handle) =>
    withToken(serviceAccount, (headers) =>
      ask(globalThis, `${modelUrl(model!)}:fetchPredictOperation`, jsonPost({ operationName: name }, headers)),
    ).catch((error: unknown) => {
      throw error instanceof ProviderError ? laterFault(error) : error;
    });

  return {
    unable(request) {
      if (request.kind !== "video") return "model";
      if (request.size !== "16:9" && request.size !== "9:16") return "size";
      if (request.duration !== seconds) return "duration";
      if (request.resolution !== undefined && !["720p", "1080p"].includes(request.resolution)) return "metadata.resolution";
      if (request.images.some(({ role }) => role)) return "image_with_roles";
      if (request.images.length > 3) return "images";
      if (request.images.length + request.characters.length > 3) return "prompt";
      return request.watermark ? "metadata.watermark" : undefined;
    },

    async start(job, signal): Promise<Accepted | Failed> {
      const { model, characters, style, resolution } = job;
      const prompt = promptWithNames(job);
      const images = [...job.images, ...characters.map(({ picture }) => picture)];
      const response = await withToken(serviceAccount, (headers) =>
        postWithPictures(
          `${modelUrl(model)}:predictLongRunning`,
          { headers, signal },
          (pictures) => ({
            instances: [{ prompt: style ? `${prompt}\nStyle: ${style}.` : prompt, ...partsOfPictures(pictures, characters.length > 0) }],
            parameters: {
              sampleCount: 1,
              durationSeconds: seconds,
              aspectRatio: job.size,
              generateAudio: true,
              ...(resolution !== undefined && { resolution }),
            },
          }),
          { images, shape },
        ),
      );
      if (!response.ok) return refusedStart(response, images.length > 0);
      const name = (await readJson<{ name?: string }>(response))?.name;
      if (!name) throw new ProviderError("start: no operation in the answer", { retryable: false });
      return { status: "accepted", operation: JSON.stringify({ part: "veo", name, model } satisfies Handle) };
    },

    async poll(handle): Promise<Pending | Succeeded | Failed> {
      const response = await fetchOperation(handle);
      if (!response.ok || !response.body) return refusedPoll(response);
      const answer = await lookForFilm<Operation>(response.body);
      if (answer.film) return { status: "succeeded", outputs: [film(handle)] };
      const { done, error, response: result } = answer.value ?? {};
      if (!done) return { status: "pending" };
      if (error) return { status: "failed", code: toCode(error) };
      const isFiltered = Number(result?.raiMediaFilteredCount ?? 0) > 0 || (result?.raiMediaFilteredReasons?.length ?? 0) > 0;
      return { status: "failed", code: isFiltered ? "content_policy_violation" : "provider_error" };
    },
  };

  /** The film is only within the answer to the same question: it is asked again. */
  function film(handle: Handle): Output {
    return {
      async open() {
        const response = await fetchOperation(handle);
        if (response.ok && response.body) return { body: filmIn(response.body), type: "video/mp4" };
        await response.body?.cancel();
        throw laterFault(toFault(response, "output"));
      },
    };
  }
}

/** One picture is where the film begins, two are its beginning and its end, three are what it shows, and so are all beside a character's. */
function partsOfPictures(pictures: string[], hasCharacters: boolean) {
  const [image, lastFrame] = pictures;
  if (pictures.length > 2 || hasCharacters)
    return { referenceImages: pictures.map((picture) => ({ image: picture, referenceType: "asset" })) };
  return { ...(image && { image }), ...(lastFrame && { lastFrame }) };
}

function toCode({ code, message }: NonNullable<Operation["error"]>): Failed["code"] {
  if (isAboutContent(message ?? "")) return "content_policy_violation";
  return Number(code) === invalidArgument ? "invalid_input" : "provider_error";
}
