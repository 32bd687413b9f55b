/** Shared by Cloudflare's model families: recognising a family, and adding images to its input. */

import type { GenerationRequest, ImageOutputs, InputImage, Job } from "../provider.ts";

/** Models with the same input format, recognised by their ids, which come from the routes. */
export interface Family {
  kind: "image" | "video";
  ids: RegExp;
  /** The request field that these models do not support. */
  unsupportedField(request: GenerationRequest): string | undefined;
  /** The options of an image's file that these models honour. */
  outputs?: ImageOutputs;
  /** Set if these models have a switch for a visible label: `always` if it cannot be left out. */
  labelSwitch?: "switch" | "always";
  /** The `input` of one call. */
  input(job: Job): Promise<Record<string, unknown>>;
}

export const toBase64 = (image: InputImage): Promise<string> => image.read(({ bytes }) => Promise.resolve(bytes.toBase64()));

export const toDataUri = (image: InputImage): Promise<string> =>
  image.read(({ bytes, type }) => Promise.resolve(`data:${type};base64,${bytes.toBase64()}`));

/** The image's own URL if it has one, else a data URI. */
export const toUrl = async (image: InputImage): Promise<string> => image.url ?? toDataUri(image);

/** Writes one image after the other, because only few fit into an isolate's memory. */
export async function inTurn(images: InputImage[], write: (image: InputImage) => Promise<string>): Promise<string[]> {
  const written: string[] = [];
  for (const image of images) written.push(await write(image));
  return written;
}
