/** Omni films by the Gemini API's interactions: made in the background, delivered as a file behind the key or within the answer. */

import { filmIn, lookForFilm } from "./inline-video.ts";
import { postWithPictures, type PictureShape } from "../shared/google-body.ts";
import { isAboutContent, refusedPoll, refusedStart, parseRefusal } from "./errors.ts";
import { geminiFiles } from "./files.ts";
import { type GoogleSettings, type Handle, parseHandle, type Part } from "./part.ts";
import { ask, toFault, readJson, jsonPost, laterFault } from "../shared/http.ts";
import { promptWithNames } from "../shared/prompt.ts";
import {
  type Accepted,
  type Failed,
  type Output,
  type Pending,
  ProviderError,
  type Succeeded,
  type GenerationRequest,
} from "../provider.ts";

interface Interaction {
  id?: string | null;
  status?: string | null;
  errors?: ({ code?: string | number | null; message?: string | null } | null)[] | null;
  steps?: ({ type?: string; content?: ({ type?: string; uri?: string | null } | null)[] | null } | null)[] | null;
  usage?: { output_tokens_by_modality?: ({ modality?: string; tokens?: number } | null)[] | null } | null;
}

/** Final without a film (@google/genai 3.1.0, InteractionStatus); every other word means that it is not done. */
const failures = new Set(["failed", "cancelled", "incomplete", "budget_exceeded"]);
const shape: PictureShape = (mime_type, data) => ({ type: "image", data, mime_type });

/** Omni 1.0 and 1.1 make films of up to ten seconds, later ones of up to fifteen. */
const longestSeconds = (model: string) => (/omni-1\.[01]\b/.test(model) ? 10 : 15);

export function omniFilms({ key, baseUrl }: NonNullable<GoogleSettings["gemini"]>): Part {
  const headers = { "x-goog-api-key": key };
  const interactions = `${baseUrl}/v1beta/interactions`;
  const files = geminiFiles({ key, baseUrl });
  const at = ({ name }: Handle) => `${interactions}/${encodeURIComponent(name)}`;

  return {
    unable,

    async start(job, signal): Promise<Accepted | Failed> {
      const { model, size, duration, resolution, characters, style } = job;
      const named = promptWithNames(job);
      const prompt = style ? `${named}\nStyle: ${style}.` : named;
      const images = [...job.images, ...characters.map(({ picture }) => picture)];
      const earlier = job.kind === "remix" ? earlierHandle(job)?.name : undefined;
      const response = await postWithPictures(
        interactions,
        { headers, signal },
        (pictures) => ({
          model,
          input: pictures.length > 0 ? [...pictures, { type: "text", text: prompt }] : prompt,
          background: true,
          store: true,
          response_format: {
            type: "video",
            delivery: "uri",
            aspect_ratio: size,
            // A number is refused.
            duration: `${duration}s`,
            ...(resolution !== undefined && { resolution }),
          },
          ...(earlier === undefined
            ? { generation_config: { video_config: { task: chooseTask(job) } } }
            : { previous_interaction_id: earlier }),
        }),
        { images, shape },
      );
      if (!response.ok) return refusedStart(response, images.length > 0);
      const name = (await readJson<Interaction>(response))?.id;
      if (!name) throw new ProviderError("start: no id in the answer", { retryable: false });
      return { status: "accepted", operation: JSON.stringify({ part: "omni", name } satisfies Handle) };
    },

    async poll(handle): Promise<Pending | Succeeded | Failed> {
      const response = await ask(globalThis, at(handle), { headers });
      // An id that is not known is 400 here, and 404 elsewhere.
      if (!response.ok || !response.body) return refusedPoll(response);
      const answer = await lookForFilm<Interaction>(response.body);
      // It may come within the answer although it was to come as a file.
      if (answer.film) return { status: "succeeded", outputs: [inlineFilm(handle)] };
      const { status, errors, steps, usage } = answer.value ?? {};
      if (failures.has(status ?? "")) {
        const isRefused = asList(errors).some((error) => isAboutContent(`${error?.code} ${error?.message}`));
        return { status: "failed", code: isRefused ? "content_policy_violation" : "provider_error" };
      }
      if (status !== "completed") return { status: "pending" };
      const made = asList(asList(steps).findLast((step) => step?.type === "model_output")?.content);
      const uri = made.find((content) => content?.type === "video")?.uri;
      if (uri) return files.at(uri);
      // Words instead of a film are how it declines; a film that was made and is not there is a fault.
      const wasMade = asList(usage?.output_tokens_by_modality).some(
        (one) => one?.modality?.toLowerCase() === "video" && Number(one.tokens) > 0,
      );
      return { status: "failed", code: wasMade ? "provider_error" : "content_policy_violation" };
    },

    async cancel(handle) {
      const response = await ask(globalThis, `${at(handle)}/cancel`, jsonPost({}, headers));
      // What is over cannot be cancelled.
      if (response.ok || response.status === 400 || response.status === 404) await response.body?.cancel();
      else throw (await parseRefusal(response, "cancel")).fault;
    },
  };

  /** Within the answer to the same question: it is asked again. */
  function inlineFilm(handle: Handle): Output {
    return {
      async open() {
        const response = await ask(globalThis, at(handle), { headers });
        if (response.ok && response.body) return { body: filmIn(response.body), type: "video/mp4" };
        await response.body?.cancel();
        throw laterFault(toFault(response, "output"));
      },
    };
  }
}

/** What is no list has nothing in it: a final answer must not be asked for again for its shape. */
const asList = <T>(value: T[] | null | undefined): T[] => (Array.isArray(value) ? value : []);

/** The interaction that made the film to be changed. */
const earlierHandle = ({ sourceOperation }: GenerationRequest): Handle | undefined => {
  const handle = sourceOperation === undefined ? undefined : parseHandle(sourceOperation);
  return handle?.part === "omni" ? handle : undefined;
};

function unable(request: GenerationRequest): string | undefined {
  const { kind, model, size, duration = 0, resolution, images, watermark } = request;
  if (kind !== "video" && kind !== "remix") return "model";
  if (kind === "remix" && !earlierHandle(request)) return "video_id";
  if (size !== "16:9" && size !== "9:16") return "size";
  if (!Number.isInteger(duration) || duration < 3 || duration > longestSeconds(model)) return "duration";
  if (resolution !== undefined && !["720p", "1080p"].includes(resolution)) return "metadata.resolution";
  const [first, ...others] = new Set(images.map(({ role }) => role));
  if (others.length > 0 || first === "last_frame") return "image_with_roles";
  return watermark ? "metadata.watermark" : undefined;
}

/** One picture is where the film begins, several are what it shows; a picture whose part the caller names plays that. */
function chooseTask({ images, characters }: GenerationRequest): string {
  const [first] = images;
  if (!first && characters.length === 0) return "text_to_video";
  return first?.role !== "reference" && images.length === 1 && characters.length === 0 ? "image_to_video" : "reference_to_video";
}
