/** A submission as a provider's request. */

import { imagePixels } from "../catalog/fields.ts";
import type { Route } from "../catalog/models.ts";
import type { GenerationRequest } from "../providers/provider.ts";
import type { Submission } from "./record.ts";

/** The prompt, also of an own input that has one. */
function readPrompt({ prompt, input }: Pick<Submission["parameters"], "prompt" | "input">): string {
  const own = input && "prompt" in input ? input.prompt : undefined;
  return prompt ?? (typeof own === "string" ? own : "");
}

/** The generation request for the provider of a route, before any input is opened. */
export function toRequest(
  submission: Pick<Submission, "kind" | "parameters" | "characters" | "source" | "label"> & { inputs: GenerationRequest["images"] },
  route: Route,
): GenerationRequest {
  const { kind, parameters: p, inputs, characters, source, label } = submission;
  const pixels = kind === "image" && p.size !== undefined ? imagePixels[p.size] : undefined;
  return {
    kind,
    model: route.model,
    prompt: readPrompt(p),
    ...(p.input && { input: p.input }),
    n: p.n ?? 1,
    name: p.name,
    ...(p.size !== undefined && { size: p.size }),
    ...(pixels && { pixels }),
    ...(p.duration !== undefined && { duration: p.duration }),
    ...(p.resolution !== undefined && { resolution: p.resolution }),
    ...(p.quality !== undefined && { quality: p.quality }),
    ...(p.output_format !== undefined && { outputFormat: p.output_format }),
    ...(p.background !== undefined && { background: p.background }),
    ...(p.style !== undefined && { style: p.style }),
    ...(p.watermark !== undefined && { watermark: p.watermark }),
    ...(label !== undefined && { label }),
    ...(p.storyboard !== undefined && { storyboard: p.storyboard }),
    ...(p.thumbnail !== undefined && { thumbnail: p.thumbnail }),
    ...(p.prompt_optimizer !== undefined && { promptOptimizer: p.prompt_optimizer }),
    images: inputs.map(({ role, url, at }) => ({ role, ...(url !== undefined && { url }), ...(at && { at }) })),
    characters: characters.map((character) => toCharacter(character, route)),
    ...(source?.operation !== undefined && source.provider === route.provider && { sourceOperation: source.operation }),
  };
}

/** A character of the request. A handle is valid only for the provider that issued it. */
export const toCharacter = ({ username, displayName, provider, handle }: Submission["characters"][number], route: Route) => ({
  username,
  displayName,
  ...(handle && provider === route.provider && { handle }),
});
