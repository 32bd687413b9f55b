/** Verifies fal's signature of a webhook: Ed25519, with keys that fal publishes (fal.ai/docs, "Webhooks"). */

import { sha256Hex } from "../../base/ids.ts";
import { ask } from "../shared/http.ts";
import { fetchedKeys, readText, recentHeaders } from "../shared/callbacks.ts";

const maxKeys = 8;
/** The public keys of fal's webhooks, the same for all users: fetched without the operator's key. */
const fetchKeys = () => ask(globalThis, "https://rest.fal.ai/.well-known/jwks.json", {});

/** True if one of the keys signed the request. */
export async function isSigned(request: Request): Promise<boolean> {
  const [signature = "", ...signed] = recentHeaders(request, "x-fal-webhook-", "signature", "request-id", "user-id", "timestamp");
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  const text = new TextEncoder().encode([...signed, await sha256Hex(await readText(request))].join("\n"));
  const { keys } = await fetchedKeys<{ keys: { x: string }[] }>("fal", fetchKeys);
  for (const { x } of keys.slice(0, maxKeys)) {
    const key = await crypto.subtle.importKey("jwk", { kty: "OKP", crv: "Ed25519", x }, "Ed25519", false, ["verify"]);
    if (await crypto.subtle.verify("Ed25519", key, Uint8Array.fromHex(signature), text)) return true;
  }
  return false;
}
