/** A planned call of the fal queue. Input fields are those of fal-ai/fal-js, `endpoints.ts` of 2026-08-02, unless another source is named. */

import type { ImageOutputs } from "../provider.ts";

/** One call. `images` maps input fields to images: by index among the request's images, followed by its characters'. */
export interface Plan {
  /** The options of an image's file that the endpoint honours. */
  outputs?: ImageOutputs;
  endpoint: string;
  input: Record<string, unknown>;
  images: Record<string, number | number[]>;
}
/** The request field that the endpoint does not support. */
export interface Unsupported {
  unsupported: string;
}
