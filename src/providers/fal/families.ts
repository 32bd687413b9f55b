/** Which family a route of the fal queue names: from a request to an endpoint and its input, or the field that it cannot honour. Pure. */

import { hailuoPlan, otherFilmPlan, seedancePlan, veoPlan } from "./videos.ts";
import { imagePlan } from "./images.ts";
import type { Plan, Unable } from "./plan.ts";
import type { GenerationRequest } from "../provider.ts";

/**
 * A route names a family: an endpoint's id without its last part, which says what the thing is made from and is chosen here
 * (`fal-ai/bytedance/seedream/v4`, `fal-ai/veo3.1/fast`). A whole endpoint id means its family. The tiers of Hailuo are
 * resolutions: `fal-ai/minimax/hailuo-02` has them all, with `/standard` or `/pro` the route offers only that one.
 */
export function toPlan(request: GenerationRequest): Plan | Unable {
  const family = request.model.replace(/\/+$/, "").replace(lastPart, "");
  if (request.kind === "image") return filmFamilies.test(family) ? { unable: "model" } : imagePlan(request, family);
  if (request.kind !== "video" || imageFamilies.test(family)) return { unable: "model" };
  if (request.watermark) return { unable: "metadata.watermark" };
  if (/\/hailuo-/.test(family)) return hailuoPlan(request, family);
  if (request.promptOptimizer) return { unable: "metadata.prompt_optimizer" };
  if (/\/veo/.test(family)) return veoPlan(request, family);
  return /\/seedance[-/]/.test(family) ? seedancePlan(request, family) : otherFilmPlan(request, family);
}

const lastPart = /\/(?:text-to-image|edit(?:-image)?|(?:text|image|reference|first-last-frame)-to-video)$/;
const imageFamilies = /\/(?:seedream|gpt-image|nano-banana|gemini-[^/]*image)/;
const filmFamilies = /\/(?:seedance|veo|hailuo|sora)/;
