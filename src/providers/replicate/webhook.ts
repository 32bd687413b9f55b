/** Verifies Replicate's signature of a webhook, which follows Standard Webhooks (replicate.com/docs, "Verify webhooks"). */

import { secretsEqual } from "../../base/ids.ts";
import { signMessage } from "../../signing/webhooks.ts";
import { readText, recentHeaders } from "../shared/callbacks.ts";

/** True if the secret (`whsec_` and Base64) signed the request. The comparison takes constant time. */
export async function isSignedBy(secret: string, request: Request): Promise<boolean> {
  const [signatures, id = "", seconds] = recentHeaders(request, "webhook-", "signature", "id", "timestamp");
  if (!signatures) return false;
  const message = await signMessage([secret], id, Number(seconds) * 1000, await readText(request));
  const matches = await Promise.all(signatures.split(" ", 8).map((one) => secretsEqual(one, message["webhook-signature"]!)));
  return matches.includes(true);
}
