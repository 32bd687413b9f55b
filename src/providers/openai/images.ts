/** Pictures in OpenAI's format: `/images/generations`, and `/images/edits` as JSON where the caller gives pictures. Both answer when they are done. */

import { readJson, outputAt, toOutput } from "../shared/http.ts";
import { type Piece, postPieces } from "../shared/openai-body.ts";
import { refused } from "./errors.ts";
import type { Upstream } from "./upstream.ts";
import { type Failed, type Job, type Output, ProviderError, type Succeeded, type GenerationRequest } from "../provider.ts";

/** Sides that 16 divides, as gpt-image-2 and later take them (openai 7.55.0, `ImageGenerateParams.size`): 1365 becomes 1360. */
const sizes: Record<string, string> = {
  "1:1": "1024x1024",
  "16:9": "1792x1024",
  "9:16": "1024x1792",
  "4:3": "1360x1024",
  "3:4": "1024x1360",
  "3:2": "1536x1024",
  "2:3": "1024x1536",
};
const firstFamily = /^(?:gpt-image-1|chatgpt-image)/;
const firstFamilyRatios = new Set(["1:1", "3:2", "2:3"]);

const chooseSize = ({ model, size = "1:1" }: GenerationRequest) =>
  firstFamily.test(model) && !firstFamilyRatios.has(size) ? undefined : sizes[size];

/** The field of a picture's request that cannot be honoured. */
export const unablePicture = (request: GenerationRequest) => (chooseSize(request) === undefined ? "size" : undefined);

interface WireImages {
  data?: ({ b64_json?: string | null; url?: string | null } | null)[] | null;
  output_format?: string | null;
}

export async function startPicture(job: Job, signal: AbortSignal, { base, headers }: Upstream): Promise<Succeeded | Failed> {
  const size = chooseSize(job);
  if (size === undefined) throw new ProviderError("start: no such size", { retryable: false, nothingAccepted: true });
  const { model, prompt, n } = job;
  const fields = JSON.stringify({ model, prompt, n, size, quality: job.quality === "hd" ? "high" : "medium" });
  const pictures = job.images.flatMap((image, at): Piece[] => [at === 0 ? '{"image_url":' : '},{"image_url":', image]);
  const response =
    pictures.length === 0
      ? await postPieces(`${base}/images/generations`, headers, [fields], signal)
      : await postPieces(`${base}/images/edits`, headers, [`${fields.slice(0, -1)},"images":[`, ...pictures, "}]}"], signal);
  if (!response.ok) return refused(response, "start");
  const made = await readJson<WireImages>(response);
  // Made and billed, perhaps, but not to be understood: nobody can say that nothing was.
  if (!Array.isArray(made?.data)) throw new ProviderError("start: not an answer", { retryable: false });
  const outputs: Output[] = [];
  const urls: string[] = [];
  for (const image of made.data) {
    if (image?.b64_json) outputs.push(toOutput(image.b64_json, `image/${made.output_format ?? "png"}`));
    else if (image?.url) urls.push(image.url);
  }
  // The maker always answers Base64; others of this format may answer URLs, which can be asked for again.
  if (outputs.length === 0 && urls.length > 0) return picturesAt(urls);
  return outputs.length > 0 ? { status: "succeeded", outputs } : { status: "failed", code: "provider_error" };
}

/** Pictures behind URLs; the operation that tells them again. */
export const picturesAt = (urls: string[]): Succeeded => ({
  status: "succeeded",
  outputs: urls.map((url) => outputAt(url)),
  operation: JSON.stringify({ images: urls }),
});
