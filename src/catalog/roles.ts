/** The role of each image of a submission, and the video ratio that follows from it. Resolved once, before a route is chosen. Pure. */

import type { ImageRole } from "./fields.ts";
import type { Kind } from "./models.ts";

interface MaybeWithRole {
  role?: ImageRole;
}

/** Gives each image a role: for videos one image without a role is the first frame, several are references; for images all are references. */
export function resolveRoles<T extends MaybeWithRole>(kind: Kind, images: T[]): (T & { role: ImageRole })[] {
  const plain: ImageRole = kind !== "image" && images.length === 1 ? "first_frame" : "reference";
  return images.map((image) => ({ ...image, role: image.role ?? plain }));
}

/** The ratio of a video without `size`: that of its first frame, `auto`, or the model's default. */
export const resolveSize = (fallback: string | undefined, images: MaybeWithRole[]): string | undefined =>
  images.some(({ role }) => role === "first_frame") ? "auto" : fallback;
