/** Stored files as one ZIP archive, written while it is sent: images and videos are compressed already, so nothing is compressed again. */

import { Zip, ZipPassThrough } from "fflate";

export interface ZipEntry {
  name: string;
  /** Milliseconds since the epoch. */
  at: number;
  open: () => Promise<ReadableStream<Uint8Array> | undefined>;
}

/** An archive without ZIP64 ends here. */
export const maxZipBytes = 4_000_000_000;

/** Files that cannot be opened any more are left out. A file that breaks off breaks the download: no archive is silently short. */
export function zip(entries: ZipEntry[]): ReadableStream<Uint8Array> {
  async function* pieces(): AsyncGenerator<Uint8Array, void> {
    let ready: Uint8Array[] = [];
    const archive = new Zip((error, bytes) => {
      if (error) throw error;
      ready.push(bytes);
    });
    const written = () => {
      const bytes = ready;
      ready = [];
      return bytes;
    };
    for (const { name, at, open } of entries) {
      const body = await open();
      if (!body) continue;
      const file = new ZipPassThrough(name);
      file.mtime = at;
      archive.add(file);
      for await (const bytes of body) {
        file.push(bytes);
        yield* written();
      }
      file.push(new Uint8Array(0), true);
      yield* written();
    }
    archive.end();
    yield* written();
  }
  const source = pieces();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await source.return()),
  });
}
