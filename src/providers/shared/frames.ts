/** The images of a request by their roles, which were resolved when the submission was checked. */

import type { GenerationRequest, InputImage, Job } from "../provider.ts";

/** The images of a job followed by those of its characters. */
export const allImages = ({ images, characters }: Job): InputImage[] => [...images, ...characters.map(({ image }) => image)];

/** Indexes into `allImages`; the images of characters are references. */
export interface Frames {
  first?: number;
  last?: number;
  references: number[];
}

/** Sorts the images of a request by role. */
export function splitByRole({ images, characters }: Pick<GenerationRequest, "images" | "characters">): Frames {
  const indexesWith = (role: string) => [...images.keys()].filter((at) => images[at]?.role === role);
  const [first] = indexesWith("first_frame");
  const [last] = indexesWith("last_frame");
  const references = [...indexesWith("reference"), ...characters.map((_, at) => images.length + at)];
  return { ...(first !== undefined && { first }), ...(last !== undefined && { last }), references };
}

/** The ratio to send to a route that does not support the ratio of the first frame. */
export const fixedRatio = (size = "16:9"): string => (size === "auto" ? "16:9" : size);
