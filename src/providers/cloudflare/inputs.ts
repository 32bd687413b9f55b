/** What Cloudflare's model families share: how a family is recognised, and how images go into its input. */

import type { GenerationRequest, InputImage, Job } from "../provider.ts";

/** Models whose inputs have the same shape, recognised by their ids, which come from the routes. */
export interface Family {
  kind: "image" | "video";
  ids: RegExp;
  /** The request field that such a model cannot honour. */
  unsupportedField(request: GenerationRequest): string | undefined;
  /** The `input` of one call. */
  input(job: Job): Promise<Record<string, unknown>>;
}

export const toBase64 = (image: InputImage): Promise<string> => image.read(({ bytes }) => Promise.resolve(bytes.toBase64()));

export const toDataUri = (image: InputImage): Promise<string> =>
  image.read(({ bytes, type }) => Promise.resolve(`data:${type};base64,${bytes.toBase64()}`));

/** The image's own URL where it has one, else a data URI. */
export const toUrl = async (image: InputImage): Promise<string> => image.url ?? toDataUri(image);

/** Writes one image after the other: few fit in an isolate. */
export async function inTurn(images: InputImage[], write: (image: InputImage) => Promise<string>): Promise<string[]> {
  const written: string[] = [];
  for (const image of images) written.push(await write(image));
  return written;
}
