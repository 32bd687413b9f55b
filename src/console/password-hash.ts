/** How passwords are kept: by the runtime's scrypt. */

import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** better-auth's own hash is JavaScript and takes longer than a Worker may: N 2^14, r 8, p 5 by the runtime itself. */
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

/** Whether this is the password that was hashed. */
export async function verify({ hash: stored, password }: { hash: string; password: string }): Promise<boolean> {
  const [salt = "", key = ""] = stored.split(":");
  const expected = Uint8Array.fromHex(key);
  const actual = await derive(password, Uint8Array.fromHex(salt));
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

/** Ten characters at least; what more is asked of a password makes it worse (NIST SP 800-63B). */
export const minPasswordLength = 10;
export const maxPasswordLength = 200;
