/** A call of the fal queue as it is planned, and what the plans of all films share. Inputs are those of @fal-ai/client 1.10.1, `endpoints.d.ts`, where no other source is named. */

import { promptWithNames } from "../shared/prompt.ts";
import type { GenerationRequest } from "../provider.ts";

/** One call. `pictures` says which pictures go into which field: by their index among the request's images and, after those, its characters. */
export interface Plan {
  endpoint: string;
  input: Record<string, unknown>;
  pictures: Record<string, number | number[]>;
}
export interface Unable {
  unable: string;
}

/**
 * The request's pictures by the part they play. Without roles one is the first frame, two are first and last, more are references;
 * all are when there are characters, which can be nothing else.
 */
export function splitByRole({ images, characters }: GenerationRequest): { first?: number; last?: number; references: number[] } {
  const all = [...images.keys()];
  const having = (role: string) => all.filter((at) => images[at]!.role === role);
  const plain = all.filter((at) => images[at]!.role === undefined);
  const areFrames = plain.length < 3 && characters.length === 0;
  const [first = areFrames ? plain[0] : undefined] = having("first_frame");
  const [last = areFrames ? plain[1] : undefined] = having("last_frame");
  const named = characters.map((_, at) => images.length + at);
  return {
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
    references: [...having("reference"), ...(areFrames ? [] : plain), ...named],
  };
}

/** The caller's field that pictures came in; characters are named in the prompt. */
export const picturesField = ({ images, characters }: GenerationRequest) =>
  images.some(({ role }) => role) ? "image_with_roles" : images.length === 0 && characters.length > 0 ? "prompt" : "images";

/** A style is advice: no endpoint has a field for it. */
export const toPrompt = (request: GenerationRequest) => promptWithNames(request) + (request.style ? `\n\nStyle: ${request.style}.` : "");
