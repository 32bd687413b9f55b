/** Canonical JSON, and the digest of bodies whose images were extracted while they were read. */

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sha256Hex } from "../../src/base/ids.ts";
import { canonicalJson, digestJson } from "../../src/media/canonical-json.ts";
import { RunningDigest } from "../../src/media/running-digest.ts";
import { base64, png } from "./images.ts";
import { MiB, buildPng, read, toStream, toUri } from "./json-bodies.ts";

/** The digest that is computed while a body is read; undefined if its images have to be read again. */
async function running(text: string, chunk = text.length): Promise<string | undefined> {
  const digest = new RunningDigest();
  const chunks = Array.from({ length: Math.ceil(text.length / chunk) }, (_, at) => text.slice(at * chunk, (at + 1) * chunk));
  return digest.end((await read(toStream(chunks), { maxImages: 10, digest })).value);
}

/** The digest of a body whose images are read again, in pieces of this size. */
async function digest(text: string, piece = 1000): Promise<string | null> {
  const { value, images, stored } = await read(toStream([text]), { maxImages: 10 });
  return digestJson(value, new Map(images.map((image) => [image.placeholder, image])), async (index) => {
    const { bytes } = stored.find((one) => one.index === index)!;
    return (async function* () {
      for (let at = 0; at < bytes.length; at += piece) yield bytes.slice(at, at + piece);
    })();
  });
}

const whole = (text: string) => sha256Hex(canonicalJson(JSON.parse(text)));

test("the standard's own examples", () => {
  const example = `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],
    "string":"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}`;
  expect(canonicalJson(JSON.parse(example))).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
  const names = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "10": 5, "9": 6, "\u{1f600}": 7, "\u0080": 8, "\u00f6": 9 };
  expect(Object.keys(names)[0]).toBe("1"); // JavaScript's own order would put 9 before 10
  expect(canonicalJson(names)).toBe('{"\\r":2,"1":4,"10":5,"9":6,"\u0080":8,"\u00f6":9,"\u20ac":1,"\u{1f600}":7,"\ufb33":3}');
});

const long = base64.png.slice(0, 64).repeat(50); // its length is a multiple of three, and it begins like a PNG
const lines = (text: string, end: string, length = 76) => text.replaceAll(new RegExp(`.{${length}}`, "g"), `$&${end}`);

test.each<[string, string]>([
  ["a data URI", toUri(buildPng(5000))],
  ["another label", `DATA:Image/jpeg;a=b;base64,${buildPng(5001).toBase64()}`],
  ["bare Base64", buildPng(5002).toBase64()],
  ["lines of 76", lines(buildPng(200_000).toBase64(), "\r\n")],
  ["a data URI in lines, with a line end at its end", `${lines(toUri(buildPng(30_000)), "\n", 64)}\n`.replace(/\n/, "")],
  ["white space in front, behind, and each kind of it", ` \t${long}\f\r\n${long} \n`],
  ["white space between the padding", `${long}${"iVBORw0KGg==".replace("==", " = \n= ")}`],
])("%s gives the digest of the whole text", async (_, image) => {
  const text = JSON.stringify({ prompt: "a quay", model: "x", images: [image, "https://a.example/1.png", image], a: null, z: image });
  expect(await digest(text)).toBe(await whole(text));
  expect(await digest(text.replaceAll("/", "\\/"), 7)).toBe(await whole(text));
  const sorted = JSON.stringify({ images: [image, "https://a.example/1.png", image], model: "x", prompt: "a quay", z: image });
  expect(await running(sorted)).toBe(await whole(sorted));
  expect(await running(sorted.replaceAll("/", "\\/"), 99_991)).toBe(await whole(sorted));
});

test.each<[string, boolean, string]>([
  ["no image", true, '{"prompt":"a quay","model":"x"}'],
  ["fields in front that belong behind", true, `{"prompt":"é \\u00e9","n":1,"images":["IMAGE","IMAGE"]}`],
  ["fields in front that belong there", true, `{"a":[{"c":1,"b":null}],"duration":5,"images":[ "a.png","IMAGE" ] ,"model":"x"}`],
  ["images at two paths, in order", true, `{"image_with_roles":[{"role":"r","url":"IMAGE"},{"url":"IMAGE"}],"images":["IMAGE"]}`],
  ["a field behind that belongs in front", false, `{"images":["IMAGE"],"duration":5}`],
  ["images at two paths, in another order", false, `{"images":["IMAGE"],"image_with_roles":[{"url":"IMAGE"}]}`],
  ["a field of the image's object that belongs in front of it", false, `{"image_with_roles":[{"url":"IMAGE","role":"r"}]}`],
  ["a name that stands twice", false, `{"images":["IMAGE"],"images":["IMAGE"]}`],
  ["much text in front", false, `{"prompt":"${"x".repeat(70_000)}","images":["IMAGE"]}`],
])("the digest is computed while the body is read: %s", async (_, isKnown, body) => {
  const text = body.replaceAll("IMAGE", toUri(buildPng(3000)));
  expect(await running(text, 1000)).toBe(isKnown ? await whole(text) : undefined);
});

test("no digest is computed for more images than are stored", async () => {
  const text = (images: number) => JSON.stringify({ images: Array.from({ length: images }, () => toUri(buildPng(1600))) });
  expect(await running(text(10))).toBe(await whole(text(10)));
  expect(await running(text(11))).toBeUndefined();
});

test("if a name occurs twice, the last value counts", async () => {
  const text = `{"images":["${toUri(buildPng(3000))}"],"model":"x","images":["${toUri(buildPng(3300, 8))}"]}`;
  expect(await digest(text)).toBe(await whole(text));
});

test("if an image's text cannot be restored, the digest is unknown", async () => {
  const disorder = buildPng(300_000)
    .toBase64()
    .replaceAll(/./g, (c, at: number) => (at % 7 === 0 || at % 11 === 0 ? `${c}${" \n\t"[at % 3]}` : c));
  expect(await digest(JSON.stringify({ images: [disorder] }))).toBeNull();
  expect(await digest(JSON.stringify({ images: ["*".repeat(3000)] }))).toBeNull();
  expect(await running(JSON.stringify({ images: ["*".repeat(3000)] }))).toBeUndefined();
});

test("a large body", async () => {
  const text = JSON.stringify({
    model: "x",
    images: [toUri(buildPng(10 * MiB)), lines(buildPng(5 * MiB).toBase64(), "\r\n")],
    prompt: "p",
  });
  expect(await digest(text, 256 * 1024)).toBe(await whole(text));
  expect(await running(text)).toBe(await whole(text));
});

test("any white space, any pieces", async () => {
  const space = fc.array(fc.constantFrom(" ", "\n", "\r\n", "\t", "\f"), { maxLength: 3 }).map((parts) => parts.join(""));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), space), { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 5000 }),
      fc.boolean(),
      async (gaps, piece, isUri) => {
        let rest = buildPng(4000).toBase64();
        let text = isUri ? "data:image/png;base64," : "";
        for (const [after, gap] of gaps) {
          text += rest.slice(0, after) + gap;
          rest = rest.slice(after);
        }
        const body = JSON.stringify({ b: 1, images: [text + rest], a: [png.length] });
        expect(await digest(body, piece)).toBe(await whole(body));
        const sorted = JSON.stringify({ b: 1, images: [text + rest] });
        expect(await running(sorted, piece)).toBe(await whole(sorted));
      },
    ),
    { numRuns: 60 },
  );
});
