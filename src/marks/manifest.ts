/** Builds a C2PA manifest store with one manifest, signed with ES256. Numbers of sections: C2PA specification 2.2. */

import type { FileBinding, SignOrder } from "../media/file-binding.ts";
import { type Cbor, encodeCbor, Tagged } from "./cbor.ts";
import type { Credential } from "./credential.ts";
import { cborBox, describe, encodedBox, superbox } from "./jumbf.ts";

/** IPTC's terms for how a file came to be: http://cv.iptc.org/newscodes/digitalsourcetype/ */
const sourceTypes = "http://cv.iptc.org/newscodes/digitalsourcetype/";
/** ES256 and the certificate chain, as labels of a COSE header (RFC 9052, RFC 9360). */
const algorithm = 1;
const es256 = -7;
const x5chain = 33;
const signatureBytes = 64;
/** The heads of byte strings of these lengths have three bytes, which makes the length of a padding predictable. */
const minPadBytes = 256;

/** The manifest store, `order.bytes` long if the order says so. Throws if it does not fit. */
export async function buildManifest(order: SignOrder, { certificates, key }: Credential, now: Date): Promise<Uint8Array<ArrayBuffer>> {
  const label = `urn:c2pa:${crypto.randomUUID()}`;
  const instance = `xmp:iid:${crypto.randomUUID()}`;
  const protectedHeader = encodeCbor(
    new Map<number, Cbor>([
      [algorithm, es256],
      [x5chain, certificates],
    ]),
  );
  const build = async (pad: number, sign: (bytes: Uint8Array<ArrayBuffer>) => Promise<Uint8Array<ArrayBuffer>>) => {
    const assertions = [
      ["c2pa.actions.v2", toActions(order, now)],
      order.binding.kind === "data" ? ["c2pa.hash.data", toDataHash(order.binding, pad)] : ["c2pa.hash.bmff.v3", toBmffHash(order.binding)],
    ] as [string, Cbor][];
    const described = assertions.map(([name, value]) => ({ name, contents: describe("cbor", name, cborBox(value)) }));
    const references = described.map(async ({ name, contents }) => ({
      url: `self#jumbf=c2pa.assertions/${name}`,
      hash: new Uint8Array(await crypto.subtle.digest("SHA-256", contents)),
    }));
    const claim = encodeCbor({
      instanceID: instance,
      claim_generator_info: { name: order.generator },
      signature: `self#jumbf=/c2pa/${label}/c2pa.signature`,
      created_assertions: await Promise.all(references),
      alg: "sha256",
    });
    // The claim is the payload, which stands in its own box (10.3.2.4).
    const signature = new Tagged(18, [protectedHeader, {}, null, await sign(toSigned(protectedHeader, claim))]);
    const manifest = describe(
      "c2ma",
      label,
      superbox(describe("c2as", "c2pa.assertions", ...described.map(({ contents }) => superbox(contents)))),
      superbox(describe("c2cl", "c2pa.claim.v2", encodedBox(claim))),
      superbox(describe("c2cs", "c2pa.signature", cborBox(signature))),
    );
    return superbox(describe("c2pa", "c2pa", superbox(manifest)));
  };
  const sign = async (bytes: Uint8Array<ArrayBuffer>) =>
    new Uint8Array(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, key, bytes));
  if (order.bytes === undefined) return build(0, sign);
  const shortest = await build(minPadBytes, () => Promise.resolve(new Uint8Array(signatureBytes)));
  const pad = minPadBytes + order.bytes - shortest.length;
  if (pad < minPadBytes) throw new Error(`the manifest needs ${shortest.length} bytes, and the file has room for ${order.bytes}`);
  return build(pad, sign);
}

/** What was done to make the file (18.16). */
const toActions = ({ isComposite }: SignOrder, now: Date): Cbor => ({
  actions: [
    {
      action: "c2pa.created",
      when: new Tagged(0, now.toISOString().replace(/\.\d+/, "")),
      digitalSourceType: `${sourceTypes}${isComposite ? "compositeWithTrainedAlgorithmicMedia" : "trainedAlgorithmicMedia"}`,
    },
  ],
  allActionsIncluded: true,
});

/** The file's hash without the part that holds the manifest (18.6). */
const toDataHash = ({ hash, exclusion }: FileBinding & { kind: "data" }, pad: number): Cbor => ({
  exclusions: [{ start: exclusion.start, length: exclusion.length }],
  name: "jumbf manifest",
  alg: "sha256",
  hash,
  pad: new Uint8Array(pad),
});

/** The hash of an MP4's boxes, each behind its offset, without those that every hash leaves out (18.7, A.5). */
const toBmffHash = ({ hash, uuid }: FileBinding & { kind: "bmff" }): Cbor => ({
  exclusions: [{ xpath: "/uuid", data: [{ offset: 8, value: uuid }] }, { xpath: "/ftyp" }, { xpath: "/mfra" }],
  alg: "sha256",
  hash,
  name: "jumbf manifest",
});

/** RFC 9052, 4.4: what a signature with one signer is made of. */
const toSigned = (protectedHeader: Uint8Array, claim: Uint8Array) => encodeCbor(["Signature1", protectedHeader, new Uint8Array(), claim]);
