/** Images by the Gemini API's `generateContent`: one per call, synchronous, in Base64. */

import { jsonPieces, postPieces } from "../shared/streamed-body.ts";
import { refusedStart } from "./errors.ts";
import { asList, type GoogleSettings, type Part } from "./part.ts";
import { ask, makeSeveral } from "../shared/http.ts";
import { readKept } from "../shared/kept.ts";
import { blocked, type Failed, type Job, type Output, ownFailure, ProviderError, type Succeeded } from "../provider.ts";

interface Content {
  text?: string;
  /** A draft, not the final image. */
  thought?: boolean | null;
  inlineData?: { mimeType?: string; data?: string } | null;
}

interface Answer {
  candidates?: ({ content?: { parts?: (Content | null)[] | null } | null; finishReason?: string | null } | null)[] | null;
  promptFeedback?: { blockReason?: string | null } | null;
}

// @google/genai 3.1.0, types of ImageConfig.
const ratios = new Set(["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]);
/** Finish reasons about the content (@google/genai 3.1.0, FinishReason). All others are provider faults. */
const contentReasons = new Set(
  "SAFETY PROHIBITED_CONTENT SPII RECITATION BLOCKLIST IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION".split(" "),
);
/** The second generation of models has only one size. */
const hasOneSize = (model: string) => model.startsWith("gemini-2");
const toJson = (mimeType: string, data: string) => ({ inlineData: { mimeType, data } });

export function geminiImages({ key, baseUrl }: NonNullable<GoogleSettings["gemini"]>): Part {
  return {
    unsupportedField(request) {
      if (request.kind !== "image") return "model";
      if (request.size !== undefined && !ratios.has(request.size)) return "size";
      if (request.quality === "hd" && hasOneSize(request.model)) return "quality";
      return undefined;
    },

    async start(job, signal): Promise<Succeeded | Failed> {
      const made = await makeSeveral(job.n, () => draw(job, signal));
      return Array.isArray(made) ? { status: "succeeded", outputs: made } : made;
    },
  };

  async function draw(job: Job, signal: AbortSignal): Promise<Output | Failed> {
    const url = `${baseUrl}/v1beta/models/${encodeURIComponent(job.model)}:generateContent`;
    const imageConfig = {
      ...(job.size !== undefined && { aspectRatio: job.size }),
      ...(!hasOneSize(job.model) && { imageSize: job.quality === "hd" ? "2K" : "1K" }),
    };
    const pieces = jsonPieces(
      job.images,
      (values) => ({
        contents: [{ role: "user", parts: [{ text: job.prompt }, ...values] }],
        generationConfig: { responseModalities: ["IMAGE"], imageConfig },
      }),
      { passesUrl: () => false, toJson },
    );
    const headers = { "x-goog-api-key": key };
    const response = await postPieces((init) => ask(globalThis, url, init), pieces, { headers, signal });
    if (!response.ok || !response.body) return refusedStart(response, job.images.length > 0);
    const { value, outputOf } = await readKept<Answer>(response, job.keep, (path) => path.at(-1) === "data");
    // An image may have been generated and billed, but the answer cannot be parsed.
    if (!value) throw new ProviderError("unclear", "start: the answer is not a JSON object");
    return (await findImage(value, outputOf)) ?? (isBlocked(value) ? blocked : ownFailure);
  }
}

/** The image of an answer; drafts of the model's thoughts are skipped. */
async function findImage({ candidates }: Answer, outputOf: (data: string) => Promise<Output>): Promise<Output | undefined> {
  for (const part of asList(candidates?.[0]?.content?.parts)) {
    const data = part?.inlineData?.data;
    if (!part?.thought && data) return outputOf(data);
  }
  return undefined;
}

/** Refusals are 200: a refused prompt has feedback and no candidate, a refused image a finish reason. */
const isBlocked = ({ candidates, promptFeedback }: Answer) =>
  Boolean(promptFeedback?.blockReason) || contentReasons.has(candidates?.[0]?.finishReason ?? "");
