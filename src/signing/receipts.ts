/** The keys of receipts: signs with the newest key, and publishes it with the retired ones (RFC 8037, Ed25519). */

import { canonicalJson } from "../media/canonical-json.ts";
import { VariableError } from "../base/variables.ts";

const base64url = { alphabet: "base64url", omitPadding: true } as const;
const encode = (text: string) => new TextEncoder().encode(text);
const part = (value: unknown) => encode(canonicalJson(value)).toBase64(base64url);

/** A public key in the format of `/.well-known/jwks.json`. */
interface PublicKey {
  kty: "OKP";
  crv: "Ed25519";
  x: string;
  /** Its thumbprint (RFC 7638). */
  kid: string;
  alg: "EdDSA";
  use: "sig";
}

/** Reads a JWK, or PKCS8 in Base64. Throws `VariableError`. */
async function readKey(variable: string, text: string): Promise<JsonWebKey & { x: string }> {
  try {
    const jwk = text.startsWith("{")
      ? (JSON.parse(text) as JsonWebKey)
      : await crypto.subtle.exportKey(
          "jwk",
          await crypto.subtle.importKey("pkcs8", Uint8Array.fromBase64(text), "Ed25519", true, ["sign"]),
        );
    if (jwk instanceof ArrayBuffer || jwk.crv !== "Ed25519" || jwk.x === undefined) throw new TypeError("another kind of key");
    return { ...jwk, x: jwk.x };
  } catch {
    // Thrown without the cause, whose message may contain the key.
    throw new VariableError(variable, "must be an Ed25519 key, as JWK or PKCS8 in Base64");
  }
}

async function toPublic(x: string): Promise<PublicKey> {
  const identity = { crv: "Ed25519", kty: "OKP", x } as const;
  const kid = new Uint8Array(await crypto.subtle.digest("SHA-256", encode(canonicalJson(identity)))).toBase64(base64url);
  return { ...identity, kid, alg: "EdDSA", use: "sig" };
}

/** The public keys, newest first. */
export async function publicKeys({ RECEIPT_SIGNING_KEY: newest, RECEIPT_SIGNING_KEY_OLD: retired = "" }: Env): Promise<PublicKey[]> {
  const texts = [
    ...(newest ? [["RECEIPT_SIGNING_KEY", newest.trim()]] : []),
    ...splitKeys(retired).map((text) => ["RECEIPT_SIGNING_KEY_OLD", text]),
  ];
  return Promise.all(texts.map(async ([variable = "", text = ""]) => toPublic((await readKey(variable, text)).x)));
}

/** Keys are separated by white space, which JWKs may contain and Base64 may not. */
const splitKeys = (text: string) => text.match(/\{[^}]*\}|[^\s{}]+/g) ?? [];

/** The payload as a compact JWS (RFC 7515), signed with the newest key. Throws if no key is set or it is not a private key. */
export async function signReceipt(payload: object, { RECEIPT_SIGNING_KEY: text }: Env): Promise<string> {
  if (!text) throw new VariableError("RECEIPT_SIGNING_KEY", "is not set");
  const { x, d } = await readKey("RECEIPT_SIGNING_KEY", text.trim());
  if (d === undefined) throw new VariableError("RECEIPT_SIGNING_KEY", "is a public key");
  const key = await crypto.subtle.importKey("jwk", { kty: "OKP", crv: "Ed25519", x, d }, "Ed25519", false, ["sign"]);
  const { alg, kid } = await toPublic(x);
  const signed = `${part({ alg, kid })}.${part(payload)}`;
  return `${signed}.${new Uint8Array(await crypto.subtle.sign("Ed25519", key, encode(signed))).toBase64(base64url)}`;
}

/** The payload of a receipt's JWS. */
export function readReceipt(jws: string): object {
  const [, payload = ""] = jws.split(".");
  return JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(payload, { alphabet: "base64url" }))) as object;
}
