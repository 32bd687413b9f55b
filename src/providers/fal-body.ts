/** The body of a submission to the fal queue: its input as JSON, with the caller's pictures as URLs or data URIs in it. */

import type { Plan } from "./fal-plan.ts";
import type { InputImage } from "./provider.ts";

/**
 * The JSON text, or a stream of known length where pictures are inline: five of them as one text would not fit into the
 * isolate beside its other work. Throws `InputError`.
 */
export async function bodyOf({ input, pictures }: Plan, images: InputImage[]): Promise<string | ReadableStream<Uint8Array>> {
  const pieces: Uint8Array[] = [];
  const write = (text: string) => void pieces.push(new TextEncoder().encode(text));
  const picture = async (at: number) => {
    const image = images[at]!;
    if (image.url !== undefined) return write(JSON.stringify(image.url));
    // Base64 has nothing that JSON would escape.
    await image.read(async ({ bytes, type }) => write(`"data:${type};base64,${bytes.toBase64()}"`));
  };
  write(JSON.stringify(input).slice(0, -1));
  for (const [field, at] of Object.entries(pictures)) {
    write(`,${JSON.stringify(field)}:`);
    if (typeof at === "number") await picture(at);
    else
      for (const [position, one] of at.entries()) {
        write(position === 0 ? "[" : ",");
        await picture(one);
        if (position === at.length - 1) write("]");
      }
  }
  write("}");
  if (images.every(({ url }) => url !== undefined)) return pieces.map((piece) => new TextDecoder().decode(piece)).join("");
  const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
  });
  return stream.pipeThrough(new FixedLengthStream(length));
}
