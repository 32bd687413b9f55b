/** The form of the ids of callers' files, and of digests. Imports nothing, so that scripts can read it too. */

/** The digest (base64url) in a file's id; undefined for a text that is no such id. */
export const fileDigest = (id: string): string | undefined =>
  /^file_[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048][A-Za-z0-9_-]{12}$/.test(id) ? id.slice(5, 48) : undefined;

/** A stored digest (base64url) as it is shown. */
export const hexDigest = (digest: string): string => Uint8Array.fromBase64(digest, { alphabet: "base64url" }).toHex();
