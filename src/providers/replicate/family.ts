/** The inputs of a family of models on Replicate. */

import type { GenerationRequest } from "../provider.ts";

/** A prediction's `input`. Fields that are undefined are not sent. */
export type Input = Record<string, unknown>;

export interface Family {
  of: RegExp;
  kind: "image" | "video";
  unsupportedField(request: GenerationRequest): string | undefined;
  /** `images` are the request's images in order, then one of each character, as URLs or data URIs. */
  input(request: GenerationRequest, images: string[]): Input;
}
