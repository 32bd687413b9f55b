/** Password hashing by the runtime's scrypt. */

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/**
 * better-auth's own hash is written in JavaScript and exceeds a Worker's CPU limit: this uses the runtime's scrypt with N 2^14, r 8, p 5.
 */
const cost = { N: 2 ** 14, r: 8, p: 5, maxmem: 64 * 1024 * 1024 };
const keyBytes = 64;

const derive = (password: string, salt: Uint8Array) =>
  new Promise<Uint8Array>((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, keyBytes, cost, (error, key) => (error ? reject(error) : resolve(key)));
  });

/** `salt:key`, both hexadecimal. */
export async function hash(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString("hex")}:${new Uint8Array(await derive(password, salt)).toHex()}`;
}

/** True if this is the password of the hash. */
export async function verify({ hash: stored, password }: { hash: string; password: string }): Promise<boolean> {
  const [salt = "", key = ""] = stored.split(":");
  const expected = Uint8Array.fromHex(key);
  const actual = await derive(password, Uint8Array.fromHex(salt));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
