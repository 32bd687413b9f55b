/** Reading a stream into memory, up to a limit. */

import { expect, test } from "vitest";
import { readAll, readKnown } from "../../src/net/bounded-body.ts";

const toStream = (...chunks: number[][]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(Uint8Array.from(chunk));
      controller.close();
    },
  });

test("a stream of chunks or of bytes is read whole", async () => {
  expect(await readAll(toStream([1, 2], [], [3]), 3)).toEqual(Uint8Array.of(1, 2, 3));
  expect(await readAll(toStream(), 0)).toEqual(new Uint8Array());
  const many = Uint8Array.from({ length: 200_000 }, (_, index) => index % 251);
  expect(await readAll(new Blob([many]).stream(), many.length)).toEqual(many);
});

test("a stream over the limit is an error", async () => {
  await expect(readAll(toStream([1, 2], [3]), 2)).rejects.toMatchObject({ reason: "too_large" });
  await expect(readAll(new Blob([new Uint8Array(200_000)]).stream(), 199_999)).rejects.toMatchObject({ reason: "too_large" });
});

const KiB = 1024;

test.each([0, 1, 64 * KiB - 1, 64 * KiB, 64 * KiB + 1, 128 * KiB, 200_000, KiB * KiB])(
  "a body of %i bytes is read whole, declared as it is or as more; declared as fewer, one byte more than that",
  async (bytes) => {
    const sent = new Uint8Array(bytes).map((_, at) => at % 251);
    const read = async (length: number) => readKnown(new Response(sent).body!, length);
    for (const length of [bytes, bytes + 1, 2 * bytes + 70_000]) expect(Buffer.compare(await read(length), sent)).toBe(0);
    for (const length of [bytes - 1, bytes - 70_000].filter((fewer) => fewer > 0)) expect((await read(length)).length).toBe(length + 1);
  },
);
