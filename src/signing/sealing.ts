/** Seals secrets that D1 stores, so that a copy of the database alone is worth nothing: AES-256-GCM with a key derived from SEALING_KEY. */

import { sealingKey } from "../config.ts";
import { signText } from "./hmac.ts";

export interface SealingSecrets {
  SEALING_KEY?: string | undefined;
  /** Every value that a rotation replaced, separated by spaces: see `rotated-secrets.ts`. */
  SEALING_KEY_OLD?: string | undefined;
  /** Release 0.2.0 sealed with this one. */
  ASSET_SIGNING_SECRET?: string | undefined;
  ASSET_SIGNING_SECRET_OLD?: string | undefined;
  ASSET_SIGNING_SECRET_REPLACED?: string | undefined;
}

interface SealingKey {
  /** Names the secret that the key is derived from, without revealing it. */
  id: string;
  key: CryptoKey;
}

const mark = "sealed:";
const ivBytes = 12;
const encoder = new TextEncoder();
const keys = new Map<string, SealingKey>();

/** Seals a text of an account: `sealed:{key}:{Base64}`. Only `openSealed` with the same account opens it. */
export async function seal(env: SealingSecrets, accountId: string, text: string): Promise<string> {
  const { id, key } = await toKey(sealingKey(env));
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const sealed = new Uint8Array(await crypto.subtle.encrypt(options(iv, accountId), key, encoder.encode(text)));
  const bytes = new Uint8Array(ivBytes + sealed.byteLength);
  bytes.set(iv);
  bytes.set(sealed, ivBytes);
  return `${mark}${id}:${bytes.toBase64()}`;
}

/** Opens a sealed text with the current key or one that it replaced; a text that is not sealed is returned as it is. Throws if none of them sealed it. */
export async function openSealed(env: SealingSecrets, accountId: string, stored: string): Promise<string> {
  if (!stored.startsWith(mark)) return stored;
  const [id, data = ""] = stored.slice(mark.length).split(":");
  const { SEALING_KEY_OLD: old = "", ASSET_SIGNING_SECRET: earlier, ASSET_SIGNING_SECRET_OLD: earlierOld } = env;
  const { ASSET_SIGNING_SECRET_REPLACED: earlierReplaced = "" } = env;
  // Rotations join several by spaces; an operator's own value may contain one.
  for (const secret of [env.SEALING_KEY, old, ...old.split(" "), earlier, earlierOld, ...earlierReplaced.split(" ")]) {
    const known = secret ? await toKey(secret) : undefined;
    if (!known || known.id !== id) continue;
    const bytes = Uint8Array.fromBase64(data);
    const opened = await crypto.subtle.decrypt(options(bytes.subarray(0, ivBytes), accountId), known.key, bytes.subarray(ivBytes));
    return new TextDecoder().decode(opened);
  }
  throw new Error("a stored secret was sealed with another SEALING_KEY");
}

/** True if the text is sealed with the current key. */
export const isSealed = async (env: SealingSecrets, stored: string): Promise<boolean> =>
  stored.startsWith(`${mark}${(await toKey(sealingKey(env))).id}:`);

/** 32 bytes that are the same for the same text, and that only the operator can compute. */
export const deriveBytes = async (env: SealingSecrets, text: string): Promise<Uint8Array> =>
  Uint8Array.fromBase64(await signText(sealingKey(env), text), { alphabet: "base64url" });

/** The text sealed with the current key, after a rotation. One that cannot be opened stays as it is. */
export const sealAgain = async (env: SealingSecrets, accountId: string, stored: string): Promise<string> =>
  (await isSealed(env, stored))
    ? stored
    : openSealed(env, accountId, stored).then(
        (text) => seal(env, accountId, text),
        () => stored,
      );

/** The account's id is authenticated, so that a sealed text does not open in another account's row. */
const options = (iv: Uint8Array<ArrayBuffer>, accountId: string) => ({ name: "AES-GCM", iv, additionalData: encoder.encode(accountId) });

/** Keeps the keys themselves: a promise of one request that ends early would never resolve for another. */
async function toKey(secret: string): Promise<SealingKey> {
  const known = keys.get(secret);
  if (known) return known;
  const made = await deriveKey(secret);
  keys.set(secret, made);
  return made;
}

async function deriveKey(secret: string): Promise<SealingKey> {
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, ["deriveBits", "deriveKey"]);
  const derivation = (info: string) => ({ name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info: encoder.encode(info) });
  const key = await crypto.subtle.deriveKey(derivation("stored secrets"), base, { name: "AES-GCM", length: 256 }, false, [
    "encrypt",
    "decrypt",
  ]);
  const id = new Uint8Array(await crypto.subtle.deriveBits(derivation("stored secrets: name of the key"), base, 32));
  return { id: id.toHex(), key };
}
