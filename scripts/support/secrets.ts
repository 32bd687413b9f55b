/** Generates secrets: random text, and the key that signs receipts. */

import { generateKeyPairSync, randomBytes } from "node:crypto";

/** 256 random bits as URL-safe text. */
export const randomSecret = (): string => randomBytes(32).toString("base64url");

/** A new Ed25519 private key, PKCS8 in Base64. */
export const newSigningKey = (): string =>
  generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
