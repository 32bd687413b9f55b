/** The images of a request by their roles, which were resolved when the submission was checked. */

import type { GenerationRequest, InputImage, Job } from "../provider.ts";

/** The images of a job followed by those of its characters. */
export const allImages = ({ images, characters }: Job): InputImage[] => [...images, ...characters.map(({ image }) => image)];

export interface Frames<T> {
  first: T | undefined;
  last: T | undefined;
  references: T[];
}

type Pictured = Pick<GenerationRequest, "images" | "characters">;

/** Sorts what stands for the images of a request by their roles; `values` are in the order of `allImages`. The images of characters are references. */
export function byRole<T>({ images, characters }: Pictured, values: readonly T[]): Frames<T> {
  const roles = [...images.map(({ role }) => role), ...characters.map(() => "reference")];
  const of = (role: string) => values.filter((_, at) => roles[at] === role);
  return { first: of("first_frame")[0], last: of("last_frame")[0], references: of("reference") };
}

/** The indexes of a request's images by their roles. */
export const splitByRole = (request: Pictured): Frames<number> =>
  byRole(request, [...request.images.keys(), ...request.characters.map((_, at) => request.images.length + at)]);

/** The ratio to send to a route that does not support the ratio of the first frame. */
export const fixedRatio = (size = "16:9"): string => (size === "auto" ? "16:9" : size);
