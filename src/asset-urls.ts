/** Signs and verifies the URLs of assets. */

import type { Asset } from "./assets.ts";

const keys = new Map<string, Promise<CryptoKey>>();

function signingKey(secret: string): Promise<CryptoKey> {
  let key = keys.get(secret);
  if (!key) {
    key = crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
    keys.set(secret, key);
  }
  return key;
}

const signedText = (key: string, expires: number, digest: string) => new TextEncoder().encode(`${key}\n${expires}\n${digest}`);
const base64url = { alphabet: "base64url", omitPadding: true } as const;

/** The URL of an asset until `expiresAt` (milliseconds). Its path, expiry and digest are signed. */
export async function signedUrl(base: string, secret: string, asset: Pick<Asset, "key" | "digest">, expiresAt: number): Promise<string> {
  const expires = Math.floor(expiresAt / 1000);
  const mac = await crypto.subtle.sign("HMAC", await signingKey(secret), signedText(asset.key, expires, asset.digest));
  return `${base}/${asset.key}?expires=${expires}&digest=${asset.digest}&signature=${new Uint8Array(mac).toBase64(base64url)}`;
}

/** True if this gateway signed exactly this key, expiry and digest. The comparison takes constant time. */
export async function isSigned(secret: string, key: string, expires: number, digest: string, signature: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{43}$/.test(signature)) return false;
  try {
    const mac = Uint8Array.fromBase64(signature, { alphabet: "base64url" });
    return (
      mac.toBase64(base64url) === signature &&
      (await crypto.subtle.verify("HMAC", await signingKey(secret), mac, signedText(key, expires, digest)))
    );
  } catch {
    return false; // not base64url
  }
}
