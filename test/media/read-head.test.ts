/** Reading the start of a body leaves the rest to be read. */

import { expect, test } from "vitest";
import { readHead, readText } from "../../src/media/json-text.ts";

const wait = <T>(read: Promise<T>) => read;
const text = (length: number) => "0123456789".repeat(length / 10);
const chunked = (whole: string, size: number) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      const bytes = new TextEncoder().encode(whole);
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    },
  });

test.each([
  ["bytes", (whole: string) => new Blob([whole]).stream()],
  ["small chunks", (whole: string) => chunked(whole, 7)],
  ["one chunk", (whole: string) => chunked(whole, whole.length)],
])("for a stream of %s", async (_, toStream) => {
  const small = await readHead(toStream(text(1_000)), 1_000, wait);
  expect([small.isWhole, new TextDecoder().decode(small.head)]).toEqual([true, text(1_000)]);
  for (const length of [1_010, 400_000]) {
    const stream = toStream(text(length));
    const { head, isWhole } = await readHead(stream, 1_000, wait);
    expect(isWhole).toBe(false);
    expect(head.length).toBeGreaterThan(1_000);
    let whole = "";
    for await (const piece of readText(stream, { maxBytes: length, head })) whole += piece;
    expect(whole).toBe(text(length));
  }
});

test("the head counts against the limit", async () => {
  const stream = new Blob([text(3_000)]).stream();
  const { head } = await readHead(stream, 100, wait);
  const read = async () => {
    for await (const piece of readText(stream, { maxBytes: 2_990, head })) expect(piece.length).toBeGreaterThan(0);
  };
  await expect(read()).rejects.toMatchObject({ reason: "too_large" });
});
