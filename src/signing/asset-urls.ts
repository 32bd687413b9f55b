/** Signs and verifies the URLs of assets. */

import { isSignedWith, isTextSigned, signText } from "./hmac.ts";

const signedText = (key: string, expires: number, digest: string) => `${key}\n${expires}\n${digest}`;

/** The URL of an asset until `expiresAt` (milliseconds). Its path, expiry and digest are signed. */
export async function signedUrl(base: string, secret: string, asset: { key: string; digest: string }, expiresAt: number): Promise<string> {
  const expires = Math.floor(expiresAt / 1000);
  const signature = await signText(secret, signedText(asset.key, expires, asset.digest));
  return `${base}/${asset.key}?expires=${expires}&digest=${asset.digest}&signature=${signature}`;
}

/** True if this gateway signed exactly this key, expiry and digest. */
export const isSigned = (env: Env, key: string, expires: number, digest: string, signature: string): Promise<boolean> =>
  isTextSigned(env, signedText(key, expires, digest), signature);

/** True if this one secret signed exactly this key, expiry and digest. */
export const isSignedBy = (secret: string, key: string, expires: number, digest: string, signature: string): Promise<boolean> =>
  isSignedWith([secret], signedText(key, expires, digest), signature);
