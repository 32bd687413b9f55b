/** Identifiers and API keys: creating, encoding and recognising them. */

import { crc32 } from "./crc32.ts";
import { fileDigest } from "./file-id.ts";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** A random identifier, `prefix` and 22 base62 characters (131 bits). */
export const newId = (prefix: string) => prefix + randomBase62(22);

/** Random base62 text without modulo bias: bytes from 248 on are discarded. */
function randomBase62(length: number): string {
  let text = "";
  while (text.length < length)
    for (const byte of crypto.getRandomValues(new Uint8Array(length - text.length))) if (byte < 248) text += base62[byte % 62];
  return text;
}

/** The 32 bytes of an object's id as 43 URL-safe characters. */
const encodeId = (objectId: DurableObjectId) =>
  Uint8Array.fromHex(objectId.toString()).toBase64({ alphabet: "base64url", omitPadding: true });

/** What creates a namespace's ids again from their text. */
type Issuer = Pick<DurableObjectNamespace, "idFromString">;

/** A task's public id from its object's id. */
export const toTaskId = (objectId: DurableObjectId) => `task_${encodeId(objectId)}`;

/**
 * The object's id of a public task id, or undefined for an id that was never issued. The platform signs the ids that it issues, so a forged
 * one is detected here and starts no object.
 */
export const toObjectId = (namespace: Issuer, taskId: string): DurableObjectId | undefined =>
  taskId.startsWith("task_") ? decodeId(namespace, taskId.slice("task_".length)) : undefined;

function decodeId(namespace: Issuer, text: string): DurableObjectId | undefined {
  // 43 characters have two bits more than 32 bytes: only the spelling that ends in zeros is valid.
  if (!/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/.test(text)) return undefined;
  try {
    return namespace.idFromString(Uint8Array.fromBase64(text, { alphabet: "base64url" }).toHex());
  } catch {
    return undefined; // not signed by this namespace
  }
}

const secretLength = 43;
const checksumLength = 6;

/** A new API key: `sk-`, 43 random base62 characters (256 bits), 6 of checksum. */
export function newApiKey(): string {
  const secret = randomBase62(secretLength);
  return `sk-${secret}${checksum(secret)}`;
}

/** True if the text can be a key, so that a mistyped one is refused without a look-up. */
export function isWellFormedKey(key: string): boolean {
  if (!/^sk-[0-9A-Za-z]{49}$/.test(key)) return false;
  const secret = key.slice(3, 3 + secretLength);
  return key.slice(3 + secretLength) === checksum(secret);
}

/** A new client token: `st-`, the id of its object, 22 random base62 characters (131 bits), 6 of checksum. */
export function newClientToken(objectId: DurableObjectId): string {
  const secret = encodeId(objectId) + randomBase62(22);
  return `st-${secret}${checksum(secret)}`;
}

/** The object's id in a client token; undefined if the token is mistyped or its object was never issued. */
export function toTokenObjectId(namespace: Issuer, token: string): DurableObjectId | undefined {
  const secret = token.slice(3, -checksumLength);
  return /^st-[\w-]{71}$/.test(token) && token.endsWith(checksum(secret)) ? decodeId(namespace, secret.slice(0, 43)) : undefined;
}

/** CRC-32 in base62, as in GitHub's tokens: it detects typing errors and has no security value. */
function checksum(text: string): string {
  let rest = crc32(new TextEncoder().encode(text));
  let out = "";
  for (let digit = 0; digit < checksumLength; digit++, rest = Math.floor(rest / 62)) out = base62[rest % 62] + out;
  return out;
}

/** SHA-256 in hexadecimal, of a text in UTF-8 or of bytes. A 256-bit random key needs no slow hash. */
export async function sha256Hex(data: string | BufferSource): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

/** Compares two secrets in constant time: their digests have equal lengths. */
export async function secretsEqual(a: string, b: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  const [left, right] = await Promise.all([digest(a), digest(b)]);
  return crypto.subtle.timingSafeEqual(left, right);
}

const chatPrefix = "chatcmpl-";
/** A new id of a chat, in the form of OpenAI's. */
export const newChatId = (): string => newId(chatPrefix);
export const isChatId = (id: string | undefined): boolean => id?.startsWith(chatPrefix) ?? false;

/** A batch's public id from its object's id, and back; undefined for an id that was never issued. */
export const toBatchId = (objectId: DurableObjectId) => `batch_${encodeId(objectId)}`;
export const toBatchObjectId = (namespace: Issuer, batchId: string): DurableObjectId | undefined =>
  batchId.startsWith("batch_") ? decodeId(namespace, batchId.slice("batch_".length)) : undefined;

/**
 * A new id of a caller's file: `file_`, the 43 characters (base64url) of the SHA-256 of its bytes, and 12 of its place. With the digest in it, a
 * repeated request that names a file can be compared by content after the file has expired.
 */
export const newFileId = (accountId: string, digest: string, createdAt: number) =>
  toFileId(accountId, digest, createdAt, crypto.getRandomValues(new Uint16Array(1))[0]!);

/** The place: the second of the file's creation in 32 bits, its millisecond in 10, 14 random ones, and 16 of a checksum, which has no security value. */
function toFileId(accountId: string, digest: string, createdAt: number, random: number): string {
  const place = new DataView(new ArrayBuffer(9));
  place.setUint32(0, createdAt / 1000);
  place.setUint32(4, ((createdAt % 1000) << 22) | ((random & 0x3fff) << 8));
  const bytes = new Uint8Array(place.buffer);
  place.setUint16(7, crc32(new TextEncoder().encode(`${accountId} ${digest} ${bytes.toHex()}`)) & 0xffff);
  return `file_${digest}${bytes.toBase64({ alphabet: "base64url" })}`;
}

/** When a file of the account was created, in milliseconds, also after its row was removed; undefined for an id that the account never got. */
export function fileCreatedAt(accountId: string, id: string): number | undefined {
  const digest = fileDigest(id);
  if (digest === undefined) return undefined;
  const place = new DataView(new ArrayBuffer(9));
  new Uint8Array(place.buffer).setFromBase64(id.slice(48), { alphabet: "base64url" });
  const rest = place.getUint32(4);
  const createdAt = 1000 * place.getUint32(0) + (rest >>> 22);
  return toFileId(accountId, digest, createdAt, rest >>> 8) === id ? createdAt : undefined;
}
