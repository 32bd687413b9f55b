/** Seedream: the capabilities of its versions, and the body of an image request. */

import type { GenerationRequest } from "../provider.ts";

/** The "2K" row of docs.byteplus.com/en/docs/ModelArk/1541523: 4.5 and 5.0 refuse sizes below 3,686,400 pixels. */
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
/** 4.0 and 5.0 pro also accept the interface's own sizes, 0.9 to 4.2 megapixels. */
const hasSmallSizes = (model: string) => /seedream-(?:4-0|5-0-pro)/.test(model);

/** `hd` is one step larger. Above "2K" only by half: the maximum of 5.0 is 10,404,496 pixels. */
function chooseSize({ model, size = "1:1", pixels, quality }: GenerationRequest): string | undefined {
  if (hasSmallSizes(model) && quality !== "hd") return pixels?.join("x");
  const scale = quality === "hd" && !hasSmallSizes(model) ? 1.5 : 1;
  return large[size]?.map((side) => side * scale).join("x");
}

/** The field of an image request that the model does not support. */
export function unsupportedImage(request: GenerationRequest): string | undefined {
  if (chooseSize(request) === undefined) return "size";
  if (request.images.length > maxImages) return "images";
  return undefined;
}

/** The body of POST /images/generations, for one image: it has no parameter for the number of images. */
export const imageBody = (request: GenerationRequest, urls: string[]) => ({
  model: request.model,
  prompt: request.prompt,
  ...(urls.length > 0 && { image: urls }),
  size: chooseSize(request),
  response_format: "url",
  // It is on by default.
  ...withWatermark(request),
});

/** The visible label "AI generated" in a corner: the caller's choice, else the operator's. With `maker` nothing is sent, so that the maker's default holds. */
export function withWatermark({ watermark, label }: GenerationRequest): { watermark?: boolean } {
  if (watermark === undefined && label === "maker") return {};
  return { watermark: watermark ?? label === "on" };
}
