/** Accounts of the tests' common gateway. */

import { AdminClient } from "../../../scripts/support/admin-client.ts";

/** The common gateway: its address and the operator's token. */
export const gateway = { baseUrl: process.env["GATEWAY_URL"] ?? "", adminToken: process.env["GATEWAY_ADMIN_TOKEN"] ?? "" };

/** Creates an account with this quota, in balance units, and returns its key. `name` is the part of its e-mail address before the "@". */
export async function newKey(name: string, quota: number): Promise<string> {
  const admin = new AdminClient(gateway.baseUrl, gateway.adminToken);
  const { id } = await admin.account(`${name}@example.com`, quota);
  return (await admin.createKey(id, name, null)).key;
}
