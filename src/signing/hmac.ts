/** HMAC-SHA-256, and base64url signatures of the texts in the gateway's own URLs. */

import { signingSecrets } from "../config.ts";

const encoder = new TextEncoder();
const keys = new Map<string, Promise<CryptoKey>>();

/** A key for `hmac`. */
export const importHmacKey = (bytes: BufferSource) =>
  crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

export const hmac = async (key: CryptoKey, text: string) => new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text)));

/** The signature of a text, 43 characters. */
export async function signText(secret: string, text: string): Promise<string> {
  let key = keys.get(secret);
  if (!key) keys.set(secret, (key = importHmacKey(encoder.encode(secret))));
  return (await hmac(await key, text)).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** True if this gateway signed exactly this text, with its current secret or one that it replaced. */
export const isTextSigned = (env: Env, text: string, signature: string): Promise<boolean> =>
  isSignedWith(signingSecrets(env), text, signature);

/** True if exactly this text was signed with one of the secrets. The comparison takes constant time. */
export async function isSignedWith(secrets: (string | undefined)[], text: string, signature: string): Promise<boolean> {
  const given = encoder.encode(signature);
  for (const secret of secrets) {
    const expected = secret ? encoder.encode(await signText(secret, text)) : undefined;
    if (expected?.byteLength === given.byteLength && crypto.subtle.timingSafeEqual(expected, given)) return true;
  }
  return false;
}
