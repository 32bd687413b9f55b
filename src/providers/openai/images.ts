/** Images in OpenAI's format: `/images/generations`, or `/images/edits` as multipart if the request has images. Both answer with the images. */

import { ask, outputAt } from "../shared/http.ts";
import { readKept } from "../shared/kept.ts";
import { type Piece, postPieces } from "../shared/streamed-body.ts";
import { readRefusal, toFailure, type WireError } from "./errors.ts";
import type { Upstream } from "./upstream.ts";
import {
  type Failed,
  type Job,
  type Output,
  ProviderError,
  type Succeeded,
  type GenerationRequest,
  type ImageOutputs,
} from "../provider.ts";

/** Rounds sides to multiples of 16, which gpt-image-2 and later accept (openai 7.55.0, `ImageGenerateParams.size`): 1365 becomes 1360. */
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

/** The field of an image request that is not supported. */
export const unsupportedImage = (request: GenerationRequest) => (chooseSize(request) === undefined ? "size" : undefined);

/** Options of its own image models (openai 7.55.0, `ImageGenerateParams`); other models of this format may not have them. */
export const openAiOutputs = ({ model }: GenerationRequest): ImageOutputs | undefined =>
  /^(?:gpt|chatgpt)-image/.test(model) ? { formats: ["png", "jpeg", "webp"], backgrounds: ["opaque", "transparent"] } : undefined;

interface WireImages extends WireError {
  data?: ({ b64_json?: string | null; url?: string | null } | null)[] | null;
  usage?: { input_tokens?: number; output_tokens?: number } | null;
}

export async function startImage(job: Job, signal: AbortSignal, { base, headers }: Upstream): Promise<Succeeded | Failed> {
  const size = chooseSize(job);
  if (size === undefined) throw new ProviderError("refused", "start: the model does not make this size");
  const { model, prompt, n, outputFormat, background } = job;
  const fields = {
    model,
    prompt,
    n,
    size,
    quality: job.quality === "hd" ? "high" : "medium",
    ...(outputFormat !== undefined && { output_format: outputFormat }),
    ...(background !== undefined && { background }),
  };
  const post = (path: string, type: string, pieces: Piece[]) =>
    postPieces((init) => ask(globalThis, base + path, init), pieces, { headers: { ...headers, "content-type": type }, signal });
  const response =
    job.images.length === 0
      ? await post("/images/generations", "application/json", [JSON.stringify(fields)])
      : await post("/images/edits", `multipart/form-data; boundary=${job.key}`, toFormParts(fields, job));
  if (!response.ok) return readRefusal(response, "start");
  const { value: made, kept, outputOf } = await readKept<WireImages>(response, job.keep, (path) => path.at(-1) === "b64_json");
  // The answer broke off: the images that arrived completely are used.
  if (made === undefined && kept.length > 0) return { status: "succeeded", outputs: kept };
  if (made?.error && !made.data) return toFailure(made.error);
  // The images may be generated and billed although the answer cannot be parsed.
  if (!Array.isArray(made?.data)) throw new ProviderError("unclear", "start: the answer has no list data");
  const outputs: Output[] = [];
  const urls: string[] = [];
  for (const image of made.data) {
    if (image?.b64_json) outputs.push(await outputOf(image.b64_json));
    else if (image?.url) urls.push(image.url);
  }
  // OpenAI always answers with Base64; other upstreams may answer with URLs, which can be opened again.
  if (outputs.length === 0 && urls.length > 0) return outputsAt(urls);
  const { input_tokens: inputTokens, output_tokens: outputTokens } = made.usage ?? {};
  const usage = { inputTokens, outputTokens };
  return outputs.length > 0 ? { status: "succeeded", outputs, usage } : { status: "failed", code: "provider_error", usage };
}

/** A form, because the JSON body of `/images/edits` supports only three sizes (openai/openai-openapi, August 2026). */
function toFormParts(fields: Record<string, string | number>, { key, images }: Job): Piece[] {
  const part = (name: string, rest: string) => `--${key}\r\nContent-Disposition: form-data; name="${name}"${rest}`;
  return [
    ...Object.entries(fields).map(([name, value]) => part(name, `\r\n\r\n${value}\r\n`)),
    ...images.map((image, at): Piece => ({
      image,
      wrap: (type) => [part("image[]", `; filename="${at + 1}.${type.replace("image/", "")}"\r\nContent-Type: ${type}\r\n\r\n`), "\r\n"],
      isRaw: true,
    })),
    `--${key}--\r\n`,
  ];
}

/** Images with URLs, and the operation by which `poll` returns them again. */
export const outputsAt = (urls: string[]): Succeeded => ({
  status: "succeeded",
  outputs: urls.map((url) => outputAt(url)),
  operation: JSON.stringify({ images: urls }),
});
