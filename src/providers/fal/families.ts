/** Chooses the endpoint and input of the fal queue for a request, or names the field that the route does not support. Pure. */

import { planVideo } from "./videos.ts";
import { planImage } from "./images.ts";
import type { Plan, Unsupported } from "./plan.ts";
import type { GenerationRequest } from "../provider.ts";

/**
 * A route names a family: an endpoint id without its last part, which depends on the inputs and is chosen here
 * (`fal-ai/bytedance/seedream/v4`, `fal-ai/veo3.1/fast`). A complete endpoint id means its family. Hailuo's tiers differ in resolution:
 * `fal-ai/minimax/hailuo-02` uses all of them; with `/standard` or `/pro` the route uses only that one.
 */
export function toPlan(request: GenerationRequest): Plan | Unsupported {
  const family = request.model.replace(/\/+$/, "").replace(lastPart, "");
  if (request.kind === "image") return videoFamilies.test(family) ? { unsupported: "model" } : planImage(request, family);
  if (request.kind !== "video" || imageFamilies.test(family)) return { unsupported: "model" };
  return planVideo(request, family);
}

/** The endpoint of a route that makes something of a prompt alone; undefined if its family has none. A complete endpoint id is itself. */
export function promptEndpoint(model: string): string | undefined {
  if (lastPart.test(model)) return model;
  const request = { model, prompt: "", n: 1, pixels: [1024, 1024] as const, images: [], characters: [] };
  const plans = (["image", "video"] as const).map((kind) => toPlan({ ...request, kind }));
  return plans.find((plan) => "endpoint" in plan)?.endpoint;
}

const lastPart = /\/(?:text-to-image|edit(?:-image)?|(?:text|image|reference|first-last-frame)-to-video)$/;
const imageFamilies = /\/(?:seedream|gpt-image|nano-banana|gemini-[^/]*image)/;
const videoFamilies = /\/(?:seedance|veo|hailuo|sora|wan-|kling-)/;
