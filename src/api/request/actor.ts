/** Who acts in a request, for the audit log. */

import type { Actor } from "../../db/audit-log.ts";
import { vouchedAdmin } from "../../db/vouched.ts";
import type { AppContext } from "./context.ts";
import { wholeRequest } from "./origin.ts";

/** The client's IP address; requests that another Worker makes for a caller have the caller's. */
const clientAddress = (c: AppContext): string | null => (wholeRequest(c) ?? c).req.header("cf-connecting-ip") ?? null;

/** The user for whom the console asks, or the key. */
export function actor(c: AppContext): Actor {
  const { userId, keyId } = c.get("caller");
  const address = clientAddress(c);
  return userId === undefined ? { kind: "key", id: keyId, address } : { kind: "user", id: userId, address };
}

/** The admin for whom the console asks, or the operator, who is known only by the token. */
export const operator = (c: AppContext): Actor => vouchedAdmin(c.req.raw) ?? { kind: "operator", id: null, address: clientAddress(c) };
