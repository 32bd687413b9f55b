/** Chooses the family of a route's model on Replicate: its input, and the fields that it does not support. */

import { toPrompt } from "../shared/prompt.ts";
import { beyondLimits } from "../shared/video-limits.ts";
import type { GenerationRequest, ImageOutputs } from "../provider.ts";
import type { Family, Input } from "./family.ts";
import { hailuo, hasReferences, seedance, veo } from "./videos.ts";
import { gptImage, nanoBanana, seedream } from "./images.ts";

/** A model's name on Replicate, `owner/name`. */
export const modelId = /^[\w.-]+\/[\w.-]+$/;

const families = [seedream, nanoBanana, gptImage, seedance, hailuo, veo];

/** An unknown model gets the fields that most models have; they have no common field for images. */
const unknown = (kind: Family["kind"]): Family => ({
  of: /./,
  kind,
  unsupportedField: (request) => (request.quality === "hd" ? "quality" : beyondLimits(request, {})),
  input: ({ size, duration, resolution }) => ({ aspect_ratio: size, duration, resolution }),
});

const findFamily = ({ model, kind }: GenerationRequest) =>
  families.find(({ of }) => of.test(model)) ?? unknown(kind === "image" ? "image" : "video");

/** The request field that the model does not support. */
export function unsupportedField(request: GenerationRequest): string | undefined {
  const family = findFamily(request);
  if (family.kind !== request.kind || !modelId.test(request.model)) return "model";
  if (request.characters.length > 0 && !hasReferences(request.model)) return "prompt";
  return family.unsupportedField(request);
}

/** The options of an image's file that the model honours. */
export const imageOutputs = (request: GenerationRequest): ImageOutputs | undefined => findFamily(request).outputs;

export const countPredictions = (request: GenerationRequest): number => (findFamily(request).makesSeveral ? 1 : request.n);

/** The input of a prediction. Undefined fields are left out. */
export function toInput(request: GenerationRequest, images: string[]): Input {
  const fields = Object.entries(findFamily(request).input(request, images)).filter(([, value]) => value !== undefined);
  return { prompt: toPrompt(request), ...Object.fromEntries(fields) };
}
