/**
 * Verifies a receipt without asking the gateway.
 *
 *   node verify-receipt.mjs receipt.json jwks.json [--request body.json] [file ...]
 *
 * `receipt.json` is the answer of `GET /v1/tasks/{id}/receipt`, `jwks.json` that of `/.well-known/jwks.json`. With the body that was sent
 * and the files that were downloaded it also checks that they are the ones the receipt names. Ends with 1 when anything is wrong.
 */

import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";

const { values, positionals } = parseArgs({ options: { request: { type: "string" } }, allowPositionals: true });
const [receiptFile, keysFile, ...files] = positionals;
if (!receiptFile || !keysFile) fail("usage: node verify-receipt.mjs receipt.json jwks.json [--request body.json] [file ...]");

const { receipt, jws } = readJson(receiptFile);
const [header, payload, signature] = jws.split(".");
const { alg, kid } = decode(header);
const jwk = readJson(keysFile).keys.find((key) => key.kid === kid);
if (alg !== "EdDSA" || !jwk) fail(`no EdDSA key ${kid} in ${keysFile}`);
const key = createPublicKey({ key: jwk, format: "jwk" });
if (!verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"))) fail("the signature is wrong");
if (!isDeepStrictEqual(decode(payload), receipt)) fail("the receipt is not the one that was signed");

if (values.request !== undefined) {
  const digest = sha256(canonical(readJson(values.request)));
  if (digest !== receipt.request_sha256) fail(`${values.request} is not the request of this receipt`);
}
for (const file of files) {
  const digest = sha256(readFileSync(file));
  if (!receipt.files.some(({ sha256: expected }) => expected === digest)) fail(`${file} is no file of this receipt`);
}
console.log(`good: ${receipt.id}, ${receipt.status}, charged ${receipt.charged} ${receipt.price?.unit ?? "units"}`);

function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

function decode(part) {
  return JSON.parse(Buffer.from(part, "base64url").toString());
}

function sha256(data) {
  return createHash("sha256").update(data).digest("hex");
}

/** Canonical JSON, RFC 8785. */
function canonical(value) {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

function fail(reason) {
  console.error(reason);
  process.exit(1);
}
