/** A certificate for the emulated hosts, signed by its own key: X.509 in DER, encoded here because Node cannot create one. */

import { generateKeyPairSync, sign } from "node:crypto";

const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const integer = (value: number) => der(0x02, Buffer.from([value]));
const octets = (...parts: Uint8Array[]) => der(0x04, ...parts);
const bits = (bytes: Uint8Array) => der(0x03, Buffer.from([0]), bytes);
/** An object identifier by its encoded bytes. */
const identifier = (hex: string) => der(0x06, Buffer.from(hex, "hex"));
const time = (date: Date) => der(0x17, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14)}Z`));

const ecdsaWithSha256 = sequence(identifier("2a8648ce3d040302"));
const commonName = (name: string) => sequence(der(0x31, sequence(identifier("550403"), der(0x0c, Buffer.from(name)))));
const dayMs = 86_400_000;

/** Key and certificate as PEM for these hosts, valid for a week from yesterday. */
export function certificateFor(hosts: string[]): { key: string; certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = commonName("emulated Cloudflare");
  const now = Date.now();
  const names = sequence(identifier("551d11"), octets(sequence(...hosts.map((host) => der(0x82, Buffer.from(host))))));
  const isAuthority = sequence(identifier("551d13"), der(0x01, Buffer.from([255])), octets(sequence(der(0x01, Buffer.from([255])))));
  const content = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(now - dayMs)), time(new Date(now + 7 * dayMs))),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(names, isAuthority)),
  );
  const certificate = sequence(content, ecdsaWithSha256, bits(sign("sha256", content, privateKey)));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replaceAll(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`,
  };
}
