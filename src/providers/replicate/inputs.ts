/** What the models on Replicate are sent and cannot do: the family is told by the route's model id. */

import { promptWithNames } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";
import type { Family, Input } from "./family.ts";
import { hailuo, hasReferences, seedance, veo } from "./videos.ts";
import { gptImage, nanoBanana, seedream } from "./images.ts";

/** A model's name on Replicate, `owner/name`. */
const modelId = /^[\w.-]+\/[\w.-]+$/;

const families = [seedream, nanoBanana, gptImage, seedance, hailuo, veo];

/** A model of which nothing is known gets the fields that most have by the same names; pictures have no common one. */
const unknown = (kind: Family["kind"]): Family => ({
  of: /./,
  kind,
  unable: ({ images, quality }) =>
    images.length > 0 ? (images[0]!.role ? "image_with_roles" : "images") : quality === "hd" ? "quality" : undefined,
  input: ({ size, duration, resolution }) => ({ aspect_ratio: size, duration, resolution }),
});

const findFamily = ({ model, kind }: GenerationRequest) =>
  families.find(({ of }) => of.test(model)) ?? unknown(kind === "image" ? "image" : "video");

/** The caller's field that the model cannot honour as it was asked for. */
export function unable(request: GenerationRequest): string | undefined {
  const family = findFamily(request);
  if (family.kind !== request.kind || !modelId.test(request.model)) return "model";
  if (request.characters.length > 0 && !hasReferences(request.model)) return "prompt";
  if (request.watermark && family !== hailuo) return "metadata.watermark";
  if (request.promptOptimizer && family !== hailuo) return "metadata.prompt_optimizer";
  return family.unable(request);
}

/** The input for the request; the style, which no model has a field for, is told in words. */
export function toInput(request: GenerationRequest, pictures: string[]): Input {
  const prompt = `${promptWithNames(request)}${request.style === undefined ? "" : `\nStyle: ${request.style}`}`;
  const fields = Object.entries(findFamily(request).input(request, pictures)).filter(([, value]) => value !== undefined);
  return { prompt, ...Object.fromEntries(fields) };
}
