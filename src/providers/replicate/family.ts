/** The inputs of a family of models on Replicate. */

import type { GenerationRequest, ImageOutputs } from "../provider.ts";

/** A prediction's `input`. Fields that are undefined are not sent. */
export type Input = Record<string, unknown>;

export interface Family {
  of: RegExp;
  kind: "image" | "video";
  /** True if one prediction makes all images of a request; otherwise each is a prediction. */
  makesSeveral?: true;
  unsupportedField(request: GenerationRequest): string | undefined;
  /** The options of an image's file that the family honours. */
  outputs?: ImageOutputs;
  /** `images` are the request's images in order, then one of each character, as URLs or data URIs. */
  input(request: GenerationRequest, images: string[]): Input;
}
