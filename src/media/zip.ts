/** Stored files as one ZIP archive, written while it is sent: images and videos are compressed already, so nothing is compressed again. */

import { makeZip } from "client-zip";

export interface ZipEntry {
  name: string;
  /** Milliseconds since the epoch. */
  at: number;
  open: () => Promise<ReadableStream<Uint8Array> | undefined>;
}

/**
 * Files that can no longer be opened are left out. If reading a file fails, so does the download, so that no archive is incomplete without an
 * error.
 */
export function zip(entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>): ReadableStream<Uint8Array> {
  async function* files() {
    for await (const { name, at, open } of entries) {
      const input = await open();
      if (input) yield { name, input, lastModified: at };
    }
  }
  return makeZip(files());
}
