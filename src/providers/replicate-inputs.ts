/** What the models on Replicate are sent and cannot do: the family is told by the route's model id. */

import { promptWithNames } from "./prompt.ts";
import type { Wish } from "./provider.ts";
import type { Family, Input } from "./replicate-family.ts";
import { hailuo, hasReferences, seedance, veo } from "./replicate-films.ts";
import { gptImage, nanoBanana, seedream } from "./replicate-pictures.ts";

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

const familyOf = ({ model, kind }: Wish) => families.find(({ of }) => of.test(model)) ?? unknown(kind === "image" ? "image" : "video");

/** The caller's field that the model cannot honour as it was asked for. */
export function unable(wish: Wish): string | undefined {
  const family = familyOf(wish);
  if (family.kind !== wish.kind || !modelId.test(wish.model)) return "model";
  if (wish.characters.length > 0 && !hasReferences(wish.model)) return "prompt";
  if (wish.watermark && family !== hailuo) return "metadata.watermark";
  if (wish.promptOptimizer && family !== hailuo) return "metadata.prompt_optimizer";
  return family.unable(wish);
}

/** The input for the wish; the style, which no model has a field for, is told in words. */
export function inputOf(wish: Wish, pictures: string[]): Input {
  const prompt = `${promptWithNames(wish)}${wish.style === undefined ? "" : `\nStyle: ${wish.style}`}`;
  const fields = Object.entries(familyOf(wish).input(wish, pictures)).filter(([, value]) => value !== undefined);
  return { prompt, ...Object.fromEntries(fields) };
}
