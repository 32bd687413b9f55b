/** Base64 files within JSON: the bytes and the remaining text are the same however the body is cut. */

import { expect, test } from "vitest";
import { readJsonFiles } from "../../src/media/json-files.ts";

const bytes = (count: number, seed: number) => Uint8Array.from({ length: count }, (_, at) => (at * seed) % 251);

/** A body in chunks of this many bytes. */
const cut = (text: string, size: number) => {
  const whole = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= whole.length) controller.close();
      else controller.enqueue(whole.slice(at, (at += size)));
    },
  });
};

async function read(body: ReadableStream<Uint8Array>, limits: { maxRest?: number } = {}) {
  const files = new Map<string, Uint8Array>();
  const value = await readJsonFiles(body, {
    maxBytes: 10_000_000,
    maxRest: 100_000,
    maxDepth: 8,
    isFileAt: (path) => path.at(-1) === "data",
    take: async (pieces) => {
      const parts: Uint8Array[] = [];
      for await (const piece of pieces) parts.push(piece);
      return new Uint8Array(await new Blob(parts).arrayBuffer());
    },
    files,
    ...limits,
  });
  return { value, files: [...files.values()], names: [...files.keys()] };
}

const files = [bytes(10_000, 7), bytes(70_001, 13), bytes(3_002, 3)];
const text = JSON.stringify({
  n: 3,
  list: [
    { data: files[0]!.toBase64(), type: "image/png" },
    { data: `data:image/png;base64,${files[1]!.toBase64()}`, other: files[0]!.toBase64() },
    { data: "short", url: "x" },
    { data: files[2]!.toBase64().replace(/.{76}/g, "$&\n") },
    { data: `https://files.example/${"a".repeat(5_000)}` },
  ],
});

test.each([1, 7, 1000, 65_536, 1_000_000])("cut into pieces of %d bytes", async (size) => {
  const { value, files: taken, names } = await read(cut(text, size));
  expect(taken).toEqual(files);
  const expected = JSON.parse(text);
  [0, 1, 3].forEach((at, number) => (expected.list[at].data = names[number]));
  expect(value).toEqual(expected);
});

test.each([
  ["broken off within a file", cut(text.slice(0, 9_000), 1000), "not_json"],
  ["broken off after it", cut(text.slice(0, 20_000), 1000), "not_json"],
  ["no Base64", cut(JSON.stringify({ data: "!".repeat(5_000) }), 1000), "not_json"],
  ["too much beside the files", cut(JSON.stringify({ other: "a".repeat(200_000) }), 1000), "too_large"],
])("%s is an error", async (_, body, reason) => {
  await expect(read(body)).rejects.toMatchObject({ name: "JsonBodyError", reason });
});

test("the receiver of a file may stop early: the value is read to its end", async () => {
  const taken = new Map<string, number>();
  const value = await readJsonFiles(cut(text, 1000), {
    maxBytes: 10_000_000,
    maxRest: 100_000,
    maxDepth: 8,
    isFileAt: (path) => path.at(-1) === "data",
    take: async (pieces) => {
      for await (const piece of pieces) return piece.byteLength;
      return 0;
    },
    files: taken,
  });
  expect(taken.size).toBe(3);
  expect(value).toMatchObject({ n: 3 });
});
