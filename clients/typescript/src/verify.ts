/** Verification without calling the gateway: of webhooks and of receipts. Uses only WebCrypto. */

const encoder = new TextEncoder();
const toBytes = (base64: string) => Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
const fromJson = (part: string): unknown => JSON.parse(new TextDecoder().decode(toBytes(part)));

/**
 * Verifies a webhook with the account's secret (`whsec_...`) and returns its parsed body. `headers` are those of `fetch` or of Node's
 * `http`, `body` is the received text. Throws if no signature is valid or the webhook is more than five minutes old.
 */
export async function verifyWebhook(
  secret: string,
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string,
): Promise<{ type: string; timestamp: string; data: unknown }> {
  const given = new Map(
    [...(Symbol.iterator in headers ? (headers as Headers) : Object.entries(headers))].map(([name, value]) => [name.toLowerCase(), value]),
  );
  const read = (name: string) => String(given.get(`webhook-${name}`) ?? "");
  const [id, timestamp, signatures] = [read("id"), read("timestamp"), read("signature")];
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= 300)) throw new Error("The webhook is too old, or of the future.");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", toBytes(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  const signed = encoder.encode(`${id}.${timestamp}.${body}`);
  // There are two signatures while a secret is being rotated.
  for (const signature of signatures.split(" "))
    if (signature.startsWith("v1,") && (await crypto.subtle.verify("HMAC", key, toBytes(signature.slice(3)), signed)))
      return JSON.parse(body);
  throw new Error("No signature of the webhook is right.");
}

/**
 * Verifies a receipt (`GET /v1/tasks/{id}/receipt`) with the gateway's keys (`GET /.well-known/jwks.json`) and returns the signed payload.
 * Throws if the signature is invalid or the receipt differs from the signed one.
 */
export async function verifyReceipt<T>(answer: { receipt: T; jws: string }, jwks: { keys: (JsonWebKey & { kid?: string })[] }): Promise<T> {
  const [header = "", payload = "", signature = ""] = answer.jws.split(".");
  const { alg, kid } = fromJson(header) as { alg: string; kid: string };
  const jwk = jwks.keys.find((key) => key.kid === kid);
  if (alg !== "EdDSA" || !jwk) throw new Error(`There is no EdDSA key ${kid}.`);
  const { kty, crv, x } = jwk;
  const key = await crypto.subtle.importKey("jwk", { kty, crv, x } as JsonWebKey, "Ed25519", false, ["verify"]);
  if (!(await crypto.subtle.verify("Ed25519", key, toBytes(signature), encoder.encode(`${header}.${payload}`))))
    throw new Error("The signature is wrong.");
  const signed = fromJson(payload) as T;
  if (sorted(signed) !== sorted(answer.receipt)) throw new Error("The receipt is not the one that was signed.");
  return signed;
}

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) =>
    typeof item === "object" && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
