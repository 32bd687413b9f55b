/** Signs messages by the Standard Webhooks specification (https://www.standardwebhooks.com), so that receivers can verify them with its libraries. */

import { hmac, importHmacKey } from "./hmac.ts";

/**
 * The three headers of a message: `webhook-id`, the same on each attempt; `webhook-timestamp`, the attempt's time in Unix seconds; and
 * `webhook-signature`, one `v1,<Base64>` for each secret (`whsec_<Base64>`), over `id.timestamp.body` by HMAC-SHA-256.
 */
export async function signMessage(secrets: string[], id: string, atMs: number, body: string): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(atMs / 1000));
  const signatures = await Promise.all(secrets.map((secret) => sign(secret, `${id}.${timestamp}.${body}`)));
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

async function sign(secret: string, text: string): Promise<string> {
  const key = await importHmacKey(Uint8Array.fromBase64(secret.replace(/^whsec_/, "")));
  return `v1,${(await hmac(key, text)).toBase64()}`;
}
