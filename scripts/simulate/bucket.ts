/** An R2 bucket in a folder, for runs that store more than fits into memory. */

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A bucket whose files are in this folder, and the number and bytes of its files. */
export function openBucket(folder: string) {
  mkdirSync(folder, { recursive: true });
  const files = new Map<string, { bytes: number; uploaded: Date }>();
  const place = (key: string) => join(folder, createHash("sha256").update(key).digest("hex"));
  const bucket = {
    put: async (key: string, value: ArrayBuffer) => {
      writeFileSync(place(key), new Uint8Array(value));
      files.set(key, { bytes: value.byteLength, uploaded: new Date(Date.now()) });
    },
    get: async (key: string) => {
      if (!files.has(key)) return null;
      const bytes = readFileSync(place(key));
      return { body: new Blob([bytes]).stream() };
    },
    delete: async (keys: string[]) => {
      for (const key of keys) {
        files.delete(key);
        rmSync(place(key), { force: true });
      }
    },
    list: async ({ prefix = "", limit = 1000, startAfter = "" }: R2ListOptions) => ({
      objects: [...files]
        .filter(([key]) => key.startsWith(prefix) && key > startAfter)
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .slice(0, limit)
        .map(([key, { uploaded }]) => ({ key, uploaded })),
    }),
  };
  const sums = () => ({ files: files.size, bytes: [...files.values()].reduce((sum, { bytes }) => sum + bytes, 0) });
  return { bucket: bucket as unknown as R2Bucket, sums };
}
