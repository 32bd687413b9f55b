/** Verifies fal's signature of a webhook: Ed25519, with keys that fal publishes (fal.ai/docs, "Webhooks"). */

import { sha256Hex } from "../../base/ids.ts";
import { ask } from "../shared/http.ts";
import { fetchedKeys, readText, recentHeaders } from "../shared/callbacks.ts";

const maxKeys = 8;
/** The public keys of fal's webhooks, the same for all users: fetched without the operator's key. */
const fetchKeys = () => ask(globalThis, "https://rest.fal.ai/.well-known/jwks.json", {});

/** The Ed25519 keys of the list; it may have others too. */
function readKeys({ keys }: Record<string, unknown>): string[] | undefined {
  const all = Array.isArray(keys) ? (keys as ({ x?: unknown } | null)[]).map((key) => String(key?.x)) : [];
  const own = all.filter((x) => /^[\w-]{43}$/.test(x)).slice(0, maxKeys);
  return own.length > 0 ? own : undefined;
}

/** True if one of the keys signed the request. */
export async function isSigned(request: Request): Promise<boolean> {
  const [signature = "", ...signed] = recentHeaders(request, "x-fal-webhook-", "signature", "request-id", "user-id", "timestamp");
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  const text = new TextEncoder().encode([...signed, await sha256Hex(await readText(request))].join("\n"));
  for (const x of await fetchedKeys("fal", fetchKeys, readKeys)) {
    const key = await crypto.subtle.importKey("jwk", { kty: "OKP", crv: "Ed25519", x }, "Ed25519", false, ["verify"]);
    if (await crypto.subtle.verify("Ed25519", key, Uint8Array.fromHex(signature), text)) return true;
  }
  return false;
}
