/** Reading a stream into memory, up to a limit. */

import { expect, test } from "vitest";
import { readAll } from "../../src/net/bounded-body.ts";

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
