/** Any document, spelled in any way and cut anywhere, is parsed like `JSON.parse`. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonBodyError } from "../../src/media/json-error.ts";
import { readJsonSkeleton } from "../../src/media/json-skeleton.ts";
import { largeReads } from "../../src/media/large-reads.ts";
import { png } from "./images.ts";
import { toStream } from "./json-bodies.ts";

const encoder = new TextEncoder();

/** The stream of a text that is cut at `cuts`. */
function cutStream(bytes: Uint8Array, cuts: readonly number[], asBytes: boolean): ReadableStream<Uint8Array> {
  const borders = [...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  const chunks = borders.map((border, at) => bytes.subarray(borders[at - 1] ?? 0, border)).filter((chunk) => chunk.length > 0);
  return toStream(chunks, asBytes ? "bytes" : undefined);
}

async function read(bytes: Uint8Array, cuts: readonly number[], asBytes: boolean) {
  const stored: Uint8Array[] = [];
  const { value, images } = await readJsonSkeleton(largeReads(cutStream(bytes, cuts, asBytes)), {
    maxBytes: 1e6,
    maxSkeletonBytes: 1e6,
    maxImageBytes: 1e5,
    maxImages: 100,
    maxDepth: 64,
    isImageAt: ([field, index, ...rest]) => field === "images" && typeof index === "number" && rest.length === 0,
    store: async ({ bytes }) => void stored.push(bytes.slice()),
  });
  // Placeholders contain a random nonce: they are compared with the image's number in their place.
  const numbers = new Map(images.map(({ placeholder, index }) => [placeholder, `image ${index}`]));
  const plain = JSON.stringify(value, (_, item: unknown) => (typeof item === "string" ? (numbers.get(item) ?? item) : item));
  return { value: JSON.parse(plain) as unknown, stored };
}

/** Writes a value as JSON; a pattern of numbers chooses white space and escapes. */
function spell(value: unknown, pattern: readonly number[]): string {
  let turn = 0;
  const next = () => pattern[turn++ % pattern.length]!;
  const space = () => ["", "", "", " ", "\n", "\r\t"][next() % 6]!;
  const string = (text: string) => {
    const style = next();
    return JSON.stringify(text).replaceAll(/\\u.{4}|\\.|[^]/g, (token, at: number) => {
      if (!/^[\w+/]$/.test(token) || style % 3 === 0 || (at * 7 + style) % 11 > 2) return token;
      return token === "/" ? "\\/" : `\\u${token.charCodeAt(0).toString(16).padStart(4, "0")}`;
    });
  };
  const any = (item: unknown): string => {
    if (typeof item === "string") return space() + string(item) + space();
    if (Array.isArray(item)) return `${space()}[${item.map(any).join(",") || space()}]${space()}`;
    if (typeof item !== "object" || item === null) return space() + JSON.stringify(item) + space();
    const fields = Object.entries(item).map(([name, field]) => `${space()}${string(name)}${space()}:${any(field)}`);
    return `${space()}{${fields.join(",") || space()}}${space()}`;
  };
  return any(value);
}

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const pattern = fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 });
const image = fc.tuple(fc.integer({ min: 1540, max: 2500 }), fc.nat(255), fc.boolean()).map(([length, fill, bare]) => {
  const bytes = new Uint8Array(length).fill(fill);
  bytes.set(png.subarray(0, 12));
  return { bytes, text: (bare ? "" : "data:image/png;base64,") + bytes.toBase64() };
});

test("documents without images are parsed like JSON.parse", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ stringUnit: "binary" }), pattern, cuts, fc.boolean(), async (value, pattern, cuts, asBytes) => {
      const bytes = encoder.encode(spell(value, pattern));
      expect((await read(bytes, cuts, asBytes)).value).toEqual(JSON.parse(new TextDecoder().decode(bytes)));
    }),
    { numRuns: 500 },
  );
});

test("only images are extracted from a document", async () => {
  const field = fc.oneof({ weight: 2, arbitrary: image }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) });
  type Image = { bytes: Uint8Array<ArrayBuffer>; text: string };
  const isImage = (item: unknown): item is Image =>
    typeof item === "object" && item !== null && "bytes" in item && item.bytes instanceof Uint8Array;
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        fc.string(),
        fc.oneof(
          fc.jsonValue(),
          image.map(({ text }) => text),
        ),
        { maxKeys: 4 },
      ),
      fc.array(field, { maxLength: 4 }),
      fc.jsonValue({ maxDepth: 2 }),
      pattern,
      cuts,
      fc.boolean(),
      async (before, items, after, pattern, cuts, asBytes) => {
        const body = (images: unknown[]) => ({ ...before, images, "after it": after });
        const bytes = encoder.encode(spell(body(items.map((item) => (isImage(item) ? item.text : item))), pattern));
        const { value, stored } = await read(bytes, cuts, asBytes);
        let number = 0;
        const expected = body(items.map((item) => (isImage(item) ? `image ${number++}` : item)));
        expect(value).toEqual(JSON.parse(JSON.stringify(expected)));
        expect(stored).toEqual((items as unknown[]).filter(isImage).map((item) => item.bytes));
      },
    ),
    { numRuns: 200 },
  );
});

test("damaged documents are refused exactly when JSON.parse refuses them", async () => {
  const damage = fc.tuple(
    fc.nat(),
    fc.nat(2),
    fc.constantFrom(...Array.from('"\\{}[],: \n\0u1e-.'), "é", "\ufeff", "null", '\\"', "\\u12"),
  );
  const document = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.tuple(image, fc.jsonValue({ maxDepth: 1 })).map(([{ text }, other]) => ({ images: [text, other] })),
  );
  await fc.assert(
    fc.asyncProperty(
      document,
      pattern,
      fc.array(damage, { minLength: 1, maxLength: 3 }),
      fc.nat(5),
      cuts,
      async (value, pattern, damages, byte, cuts) => {
        let text = spell(value, pattern);
        for (const [at, removed, insert] of damages) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + insert + text.slice(place + removed);
        }
        const bytes = encoder.encode(text);
        if (byte === 0 && bytes.length > 0) bytes[damages[0]![0] % bytes.length] = 0xc3;
        let expected: unknown;
        try {
          expected = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes));
        } catch {
          expected = new JsonBodyError("not_json");
        }
        const result = await read(bytes, cuts, false).catch((error: unknown) => error);
        if (expected instanceof JsonBodyError) expect(result).toMatchObject({ reason: "not_json" });
        else expect(result).toHaveProperty("value");
      },
    ),
    { numRuns: 1000 },
  );
});
