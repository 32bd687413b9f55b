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

  /** The type by the file's extension. The API checks the bytes. */
  get type(): string {
    const ending = /\.(png|webp)$/i.exec(this.name)?.[1]?.toLowerCase();
    return `image/${ending ?? "jpeg"}`;
  }
}
