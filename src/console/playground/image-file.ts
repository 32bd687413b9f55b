/** Images from files, and JSON with them, which is generated while it is sent: each image is in memory once and never as text. */

import { toStream } from "../../base/to-stream.ts";

/** What a field for images accepts. */
export const pictureTypes = "image/png,image/jpeg,image/webp";

/** An image from a file; without content if only its name is known. */
export class ImageFile {
  readonly name: string;
  readonly content: Uint8Array[];

  constructor(name: string, content: Uint8Array[] = []) {
    this.name = name;
    this.content = content;
  }

  get size(): number {
    return this.content.reduce((bytes, chunk) => bytes + chunk.length, 0);
  }

  /** The whole file as text. */
  toDataUri(): string {
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const chunk of this.content) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return `data:${this.type};base64,${bytes.toBase64()}`;
  }

  /** The image of a data URI; undefined if the data URI is not a valid image. */
  static fromDataUri(uri: string, name: string): ImageFile | undefined {
    const [, ending, base64] = /^data:image\/(png|jpeg|webp);base64,([\w+/]+=*)$/.exec(uri) ?? [];
    if (!ending || !base64) return undefined;
    try {
      return new ImageFile(`${name}.${ending}`, [Uint8Array.fromBase64(base64)]);
    } catch {
      return undefined; // not Base64
    }
  }

  /** The type by the file's extension. The API checks the bytes. */
  get type(): string {
    const ending = /\.(png|webp)$/i.exec(this.name)?.[1]?.toLowerCase();
    return `image/${ending ?? "jpeg"}`;
  }
}

/** A body as JSON text, in which images become data URIs while it is read. */
export function toJson(body: object): string | ReadableStream<Uint8Array> {
  const images: ImageFile[] = [];
  const mark = crypto.randomUUID();
  const text = JSON.stringify(body, (_, value: unknown) => (value instanceof ImageFile ? (images.push(value), mark) : value));
  if (images.length === 0) return text;
  const encoder = new TextEncoder();
  const pieces = text.split(mark);
  function* written() {
    for (const [at, piece] of pieces.entries()) {
      yield encoder.encode(piece);
      const image = images[at];
      if (!image) continue;
      yield encoder.encode(`data:${image.type};base64,`);
      for (const base64 of base64Of(image.content)) yield encoder.encode(base64);
    }
  }
  return toStream(written());
}

/** Base64 of bytes in chunks, without splitting groups of three. */
function* base64Of(chunks: Uint8Array[]): Generator<string> {
  let rest: Uint8Array = new Uint8Array();
  for (const chunk of chunks) {
    const bytes = new Uint8Array(rest.length + chunk.length);
    bytes.set(rest);
    bytes.set(chunk, rest.length);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.subarray(0, whole).toBase64();
    rest = bytes.subarray(whole);
  }
  yield rest.toBase64();
}
