/** The browser's reader of manifests: signer, time and origin, from files with manifests of the marks Worker and of makers. */

import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { newTestChain } from "../../scripts/support/test-chain.ts";
import { type Cbor, encodeCbor, Tagged } from "../../src/marks/cbor.ts";
import { readCredential } from "../../src/marks/credential.ts";
import { cborBox, describe, superbox } from "../../src/marks/jumbf.ts";
import { buildManifest } from "../../src/marks/manifest.ts";
import { png } from "../media/images.ts";
import { box, joined, signed, type SignedType, uint32 } from "../media/signed.ts";

interface Facts {
  type: string;
  sha256: string;
  found: boolean;
  byModel: boolean;
  signer?: string;
  time?: number;
  isStamped?: boolean;
}

const globals = {
  String,
  DataView,
  Uint8Array,
  Number,
  Set,
  Map,
  Math,
  Date,
  Array,
  Object,
  Reflect,
  TextDecoder,
  Symbol,
  RangeError,
  crypto,
};
const page = { ...globals } as typeof globals & { examineFile: (buffer: ArrayBuffer) => Promise<Facts> };
for (const name of ["credentials", "manifest"])
  // Each in a scope of its own, as modules are.
  runInNewContext(`{${readFileSync(new URL(`../../src/console/client/${name}.js`, import.meta.url), "utf8")}}`, page);
const examine = (bytes: Uint8Array<ArrayBuffer>) => page.examineFile(bytes.slice().buffer);

const now = new Date("2026-11-23T09:41:07.250Z");
const video = joined(box("ftyp", "isom"), box("mdat", new Uint8Array(500)), box("moov", ""));
const types = ["png", "jpeg", "webp", "mp4"] as SignedType[];

const chain = newTestChain();
/** A manifest of the marks Worker with a new test chain. */
async function manifest(isComposite = false) {
  const order = {
    isComposite,
    generator: "Generation gateway",
    binding: { kind: "data", hash: new Uint8Array(32), exclusion: { start: 0, length: 9 } },
  };
  return buildManifest(order as Parameters<typeof buildManifest>[0], await readCredential(await chain, new Date()), now);
}

test.each(types)("of a signed %s it reads the certificate's name, the time and that a model made it", async (type) => {
  for (const isComposite of [false, true])
    expect(await examine(signed[type](video, await manifest(isComposite)))).toMatchObject({
      found: true,
      byModel: true,
      signer: "Generation gateway (test certificate)",
      time: Date.parse("2026-11-23T09:41:07Z"),
      isStamped: false,
    });
});

test("a manifest in several segments of a JPEG is read whole", async () => {
  const store = await manifest();
  const file = signed.jpeg(undefined, store);
  const segment = (packet: number, part: Uint8Array) => {
    const content = joined("JP", [0, 1], uint32(packet), ...(packet > 1 ? [store.subarray(0, 8)] : []), part);
    return joined([0xff, 0xeb, (content.length + 2) >> 8, (content.length + 2) & 255], content);
  };
  const split = joined(
    file.subarray(0, 2),
    segment(1, store.subarray(0, 700)),
    segment(2, store.subarray(700, 1_500)),
    segment(3, store.subarray(1_500)),
    file.subarray(2 + 4 + 8 + store.length),
  );
  expect(await examine(split)).toMatchObject({ byModel: true, signer: "Generation gateway (test certificate)", isStamped: false });
});

/** A DER value of this tag. */
const der = (tag: number, ...parts: (Uint8Array | string)[]) => {
  const value = joined(...parts);
  const length = value.length < 128 ? [value.length] : [0x82, value.length >> 8, value.length & 255];
  return joined([tag], length, value);
};
/** The store of a maker: its signature has these open headers, and its actions this time. */
function makersStore(open: Cbor, when: string, certificate?: Uint8Array) {
  const header = encodeCbor(new Map<number, Cbor>([[1, -7], ...(certificate ? [[33, certificate] as [number, Cbor]] : [])]));
  const actions = cborBox({ actions: [{ action: "c2pa.created", when: new Tagged(0, when) }] });
  const active = describe(
    "c2ma",
    "urn:c2pa:1",
    superbox(describe("c2as", "c2pa.assertions", superbox(describe("cbor", "c2pa.actions", actions)))),
    superbox(describe("c2cs", "c2pa.signature", cborBox(new Tagged(18, [header, open, null, new Uint8Array(64)])))),
  );
  return superbox(describe("c2pa", "c2pa", superbox(active)));
}
/** A time stamp's content (RFC 3161, 2.4.2) of this time, inside what else a token has. */
const token = (time: string) =>
  der(
    0x30,
    der(
      0x30,
      der(0x06, Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 9, 16, 1, 4)),
      der(0xa0, der(4, der(0x30, der(2, "\u0001"), der(0x18, time)))),
    ),
  );

test("a time stamp goes before what the signer states, and a subject without an organization is named by its common name", async () => {
  const name = (type: number, text: string) =>
    der(0x31, der(0x30, der(6, Uint8Array.of(0x55, 4, type)), der(0x0c, new TextEncoder().encode(text))));
  const certificate = der(0x30, der(0x30, der(2, "\u0001"), der(0x30), der(0x30), der(0x30), der(0x30, name(3, "Atelier \u00e9"))));
  for (const header of ["sigTst", "sigTst2"]) {
    const store = makersStore({ [header]: { tstTokens: [{ val: token("20261101120000Z") }] } }, "2020-01-01T00:00:00Z", certificate);
    expect(await examine(signed.png(undefined, store))).toMatchObject({
      signer: "Atelier \u00e9",
      time: Date.parse("2026-11-01T12:00:00Z"),
      isStamped: true,
    });
  }
});

test("what is damaged or made up is left out, and a file without a manifest has no signer", async () => {
  expect(await examine(signed.png())).toMatchObject({ found: true, byModel: false });
  expect((await examine(signed.png())).signer).toBeUndefined();
  expect(await examine(signed.png(undefined, makersStore({}, "yesterday")))).toMatchObject({ signer: undefined, time: undefined });
  const plain = await examine(png);
  expect([plain.type, plain.found, plain.signer]).toEqual(["image/png", false, undefined]);
  const store = await manifest();
  let seed = 1;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647);
  for (let round = 0; round < 300; round++) {
    const broken = store.slice();
    for (let at = 0; at < 4; at++) broken[40 + (random() % (broken.length - 40))] = random() % 256;
    expect((await examine(signed.png(undefined, broken))).found).toBe(true);
  }
});
