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
