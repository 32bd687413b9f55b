/** A call of the fal queue as it is planned, and what the plans of all films share. Inputs are those of @fal-ai/client 1.10.1, `endpoints.d.ts`, where no other source is named. */

import { promptWithNames } from "./prompt.ts";
import type { Wish } from "./provider.ts";

/** One call. `pictures` says which pictures go into which field: by their index among the wish's images and, after those, its characters. */
export interface Plan {
  endpoint: string;
  input: Record<string, unknown>;
  pictures: Record<string, number | number[]>;
}
export interface Unable {
  unable: string;
}

/**
 * The wish's pictures by the part they play. Without roles one is the first frame, two are first and last, more are references;
 * all are when there are characters, which can be nothing else.
 */
export function partsOf({ images, characters }: Wish): { first?: number; last?: number; references: number[] } {
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
export const picturesField = ({ images, characters }: Wish) =>
  images.some(({ role }) => role) ? "image_with_roles" : images.length === 0 && characters.length > 0 ? "prompt" : "images";

/** A style is advice: no endpoint has a field for it. */
export const promptOf = (wish: Wish) => promptWithNames(wish) + (wish.style ? `\n\nStyle: ${wish.style}.` : "");
