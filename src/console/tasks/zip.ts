/** Stored files as one ZIP archive, written while it is sent: images and videos are compressed already, so nothing is compressed again. */

import { makeZip } from "client-zip";

export interface ZipEntry {
  name: string;
  /** Milliseconds since the epoch. */
  at: number;
  open: () => Promise<ReadableStream<Uint8Array> | undefined>;
}

/** Files that cannot be opened any more are left out. A file that breaks off breaks the download: no archive is silently short. */
export function zip(entries: ZipEntry[]): ReadableStream<Uint8Array> {
  async function* files() {
    for (const { name, at, open } of entries) {
      const input = await open();
      if (input) yield { name, input, lastModified: at };
    }
  }
  return makeZip(files());
}
