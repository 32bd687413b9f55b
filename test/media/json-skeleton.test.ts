/** Bodies with images: what is removed and what remains. */

import { expect, test } from "vitest";
import type { InlineImage } from "../../src/media/json-skeleton.ts";
import { base64, png } from "./images.ts";
import { MiB, buildPng, read, toStream, toUri } from "./json-bodies.ts";

test("images are removed from the body, and the rest remains", async () => {
  const files = [buildPng(4000, 1), buildPng(5001, 2), buildPng(6002, 3)];
  const [one, two, three] = files as [Uint8Array, Uint8Array, Uint8Array];
  const { value, images, stored, placeholders } = await read({
    model: "vidC-1",
    images: [toUri(one), "https://example.com/a.png", two.toBase64()],
    image_with_roles: [{ role: "first_frame", url: toUri(three) }],
    prompt: 'a "quoted" \\ cat 🐈',
  });
  expect(value).toEqual({
    model: "vidC-1",
    images: [placeholders[0], "https://example.com/a.png", placeholders[1]],
    image_with_roles: [{ role: "first_frame", url: placeholders[2] }],
    prompt: 'a "quoted" \\ cat 🐈',
  });
  expect(stored).toEqual(files.map((bytes, index) => ({ bytes, type: "image/png", index })));
  const digests = await Promise.all(files.map(async (file) => new Uint8Array(await crypto.subtle.digest("SHA-256", file)).toHex()));
  expect(images).toEqual(
    files.map((file, index) => ({
      index,
      placeholder: placeholders[index],
      spelling: (["data_uri", "bare", "data_uri"] as const)[index],
      bytes: file.length,
      type: "image/png",
      sha256: digests[index],
      layout: { start: index === 1 ? "" : "data:image/png;base64,", gaps: [] },
    })),
  );
  expect(new Set(placeholders).size).toBe(3);
  expect((await read({ images: [toUri(one)] })).placeholders).not.toContain(placeholders[0]);
});

test("only strings at the paths of images are removed", async () => {
  const uri = toUri(buildPng(4000));
  const body = {
    prompt: uri,
    images: { 0: uri, images: [uri] },
    image: [uri],
    image_with_roles: [uri, { role: uri, url: [uri] }, [{ url: uri }]],
    metadata: { images: [uri], image_with_roles: [{ url: uri }] },
    [uri]: [{}, [], uri],
  };
  expect(await read(body)).toMatchObject({ value: body, images: [] });
  expect(await read([uri, [uri], { images: [uri] }])).toMatchObject({ value: [uri, [uri], { images: [uri] }], images: [] });
  expect(await read(JSON.stringify(uri))).toMatchObject({ value: uri, images: [] });
});

test("URLs and short strings remain", async () => {
  const body = {
    images: [
      `https://example.com/${"a".repeat(5000)}`,
      ` HTTP://example.com/?data:image/png;base64,${"A".repeat(5000)}`,
      toUri(png),
      "",
      "A".repeat(2048),
    ],
  };
  expect(await read(body)).toMatchObject({ value: body, images: [] });
  expect(await read(`{"images":["\\u0068ttps\\u003a//${"a".repeat(5000)}"]}`)).toMatchObject({ images: [] });
  expect(await read({ images: ["A".repeat(2052)] })).toMatchObject({ images: [{ problem: "unsupported_format", spelling: "bare" }] });
});

test("names and images may be written with escapes", async () => {
  const file = buildPng(5000, 255); // every slash is escaped
  const uri = toUri(file);
  const escaped = (text: string) => text.replaceAll(/[^]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const spellings = [
    uri.replaceAll("/", "\\/"),
    escaped(uri),
    uri.replaceAll(/.{76}/g, "$&\\r\\n"),
    uri.replaceAll(/(.{3})(.)/g, (_, plain: string, char: string) => plain + escaped(char)),
  ];
  for (const spelling of spellings) {
    const { stored, value, placeholders } = await read(`{"im\\u0061ges" : [\n"${spelling}" ]}`);
    expect(value).toEqual({ images: placeholders });
    expect(stored).toEqual([{ bytes: file, type: "image/png", index: 0 }]);
  }
});

test("a body may be cut at every byte, and into single bytes", async () => {
  const file = buildPng(1530);
  file.fill(255, 500, 520);
  const uri = toUri(file).replaceAll("/", "\\/");
  const bytes = new TextEncoder().encode(`\ufeff{"prompt":"é😀\\"\\\\","images":["${uri}","\\u00e9\\n"],"n":-1.5e3}`);
  const expectRead = async (stream: ReadableStream<Uint8Array>, cut: string) => {
    const { value, stored, placeholders } = await read(stream);
    expect(value, cut).toEqual({ prompt: 'é😀"\\', images: [placeholders[0], "é\n"], n: -1500 });
    expect(stored.length === 1 && stored[0]!.bytes.every((byte, at) => byte === file[at]), cut).toBe(true);
  };
  for (let cut = 0; cut <= bytes.length; cut++) {
    const type = cut % 2 ? ("bytes" as const) : undefined;
    await expectRead(
      toStream(
        [bytes.subarray(0, cut), bytes.subarray(cut)].filter((chunk) => chunk.length > 0),
        type,
      ),
      `at ${cut}`,
    );
  }
  await expectRead(toStream(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))), "single bytes");
  await expectRead(
    toStream(
      Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)),
      "bytes",
    ),
    "single bytes of a byte stream",
  );
  await expectRead(new Response(bytes).body!, "a response");
});

test("the result of each image is reported, and only images are stored", async () => {
  const filler = "A".repeat(3000);
  const { value, images, stored, placeholders } = await read(
    {
      images: [
        `data:image/png;base64,R0lGODlh${filler}`,
        `data:image/png;base64,${filler}*`,
        `data:image/png;base64,${filler}A`,
        `data:image/png,${filler}`,
        `data:image/png;base64,${" ".repeat(3000)}`,
        `${base64.png.slice(0, 60)}${filler}${filler}`,
        `\u{1f408}${filler}`,
        toUri(buildPng(3000)),
      ],
    },
    { maxImageBytes: 4000 },
  );
  expect(images.map((image) => ("problem" in image ? image.problem : image.type))).toEqual([
    "unsupported_format",
    "invalid_base64",
    "invalid_base64",
    "not_an_image_url",
    "empty",
    "too_large",
    "invalid_base64",
    "image/png",
  ]);
  expect(value).toEqual({ images: placeholders });
  expect(stored.map((image) => image.index)).toEqual([7]);
});

test("an image of ten mebibytes is accepted, one byte more is not", async () => {
  const body = JSON.stringify({ images: [toUri(buildPng(10 * MiB)), toUri(buildPng(10 * MiB + 1))] });
  const sizes: number[] = [];
  const store = async ({ bytes }: InlineImage) => void sizes.push(bytes.length);
  const { images } = await read(new Response(body).body!, { store });
  expect(images).toMatchObject([{ bytes: 10 * MiB }, { problem: "too_large" }]);
  expect(sizes).toEqual([10 * MiB]);
});

test("images over the limit are reported and not stored", async () => {
  const { images, stored, value, placeholders } = await read({ images: Array.from({ length: 7 }, (_, at) => toUri(buildPng(3000, at))) });
  expect(stored.map((image) => image.index)).toEqual([0, 1, 2, 3, 4]);
  expect(images.slice(5)).toMatchObject([{ problem: "too_many" }, { problem: "too_many" }]);
  expect(value).toEqual({ images: placeholders });
});

test("of two fields with the same name the last counts, and the images of the other are reported", async () => {
  const [one, two] = [toUri(buildPng(3000, 1)), toUri(buildPng(3000, 2))];
  const { value, stored, placeholders } = await read(`{"images":["${one}"],"n":1,"n":2,"im\\u0061ges":["${two}"],"__proto__":{"a":1}}`);
  expect(value).toEqual(JSON.parse(`{"images":["${placeholders[1]}"],"n":2,"__proto__":{"a":1}}`));
  expect(stored).toHaveLength(2);
});
