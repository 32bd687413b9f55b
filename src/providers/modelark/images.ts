/** Seedream: what its versions can do, and how a request for an image is written for them. */

import type { GenerationRequest } from "../provider.ts";

/** The "2K" row of docs.byteplus.com/en/docs/ModelArk/1541523: at least 3,686,400 pixels, without which 4.5 and 5.0 refuse. */
const large: Record<string, readonly [number, number]> = {
  "1:1": [2048, 2048],
  "16:9": [2560, 1440],
  "9:16": [1440, 2560],
  "4:3": [2304, 1728],
  "3:4": [1728, 2304],
  "3:2": [2496, 1664],
  "2:3": [1664, 2496],
};

const maxImages = 14;
/** The interface's own pixels, 0.9 to 4.2 megapixels, are what 4.0 and 5.0 pro take, too. */
const hasSmallSizes = (model: string) => /seedream-(?:4-0|5-0-pro)/.test(model);

/** `hd` is one step up. Beyond "2K" by half only: 5.0 ends at 10,404,496 pixels. */
function chooseSize({ model, size = "1:1", pixels, quality }: GenerationRequest): string | undefined {
  if (hasSmallSizes(model) && quality !== "hd") return pixels?.join("x");
  const scale = quality === "hd" && !hasSmallSizes(model) ? 1.5 : 1;
  return large[size]?.map((side) => side * scale).join("x");
}

/** The field of a request for images that the model cannot honour. */
export function unsupportedImage(request: GenerationRequest): string | undefined {
  if (chooseSize(request) === undefined) return "size";
  if (request.images.length > maxImages) return "images";
  return undefined;
}

/** The body of POST /images/generations, for one image: there is no parameter for their number. */
export const imageBody = (request: GenerationRequest, urls: string[]) => ({
  model: request.model,
  prompt: request.prompt,
  ...(urls.length > 0 && { image: urls }),
  size: chooseSize(request),
  response_format: "url",
  // Left out, it is on.
  watermark: request.watermark ?? false,
});
