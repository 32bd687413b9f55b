/** What the schemas of Cloudflare's model families share: how a family is told, and how a caller's pictures go into its input. */

import type { InputImage, Job, GenerationRequest } from "../provider.ts";

/** Models whose inputs have the same shape. They are told by their ids, which come from the operator's routes. */
export interface Family {
  kind: "image" | "video";
  ids: RegExp;
  /** The caller's field that such a model cannot honour. */
  unable(request: GenerationRequest): string | undefined;
  /** The `input` of one call. */
  input(job: Job): Promise<Record<string, unknown>>;
}

export const base64Of = (image: InputImage): Promise<string> => image.read(({ bytes }) => Promise.resolve(bytes.toBase64()));

export const toDataUri = (image: InputImage): Promise<string> =>
  image.read(({ bytes, type }) => Promise.resolve(`data:${type};base64,${bytes.toBase64()}`));

/** The caller's own address where there is one, for schemas that take either. */
export const toAddress = async (image: InputImage): Promise<string> => image.url ?? toDataUri(image);

/** One after the other: few pictures fit in an isolate. */
export async function inTurn(images: InputImage[], write: (image: InputImage) => Promise<string>): Promise<string[]> {
  const written: string[] = [];
  for (const image of images) written.push(await write(image));
  return written;
}

/** The prompt with the style the caller wishes for, as far as both fit. */
export function styled({ prompt, style }: GenerationRequest, maxLength = Infinity): string {
  const text = style === undefined ? prompt : `${prompt}\n\nStyle: ${style}.`;
  return text.length > maxLength ? prompt : text;
}
