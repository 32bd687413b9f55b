/** What is known of a family of models on Replicate. */

import type { Wish } from "./provider.ts";

/** A prediction's `input`. Fields that are undefined are not sent. */
export type Input = Record<string, unknown>;

export interface Family {
  of: RegExp;
  kind: "image" | "video";
  unable(wish: Wish): string | undefined;
  /** `pictures` are the wish's images in their order, then one of each character, as URLs or data URIs. */
  input(wish: Wish, pictures: string[]): Input;
}
