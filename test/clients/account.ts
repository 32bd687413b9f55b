/** A separate account for each test, so that its balance shows what a client spends. */

import * as z from "zod/mini";

const baseUrl = () => process.env["GATEWAY_URL"] ?? "";

/** An account with a new key. */
export interface Account {
  /** The gateway's base URL for OpenAI's clients. */
  baseURL: string;
  apiKey: string;
  /** The charged amount in balance units. */
  used: () => Promise<number>;
}

async function ask<T extends z.ZodMiniType>(path: string, token: string, schema: T, body?: object): Promise<z.output<T>> {
  const response = await fetch(baseUrl() + path, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return schema.parse(await response.json());
}

export async function newAccount(quota = 100): Promise<Account> {
  const admin = process.env["GATEWAY_ADMIN_TOKEN"] ?? "";
  const { id } = await ask("/admin/accounts", admin, z.object({ id: z.string() }), { email: `${crypto.randomUUID()}@example.com`, quota });
  const { key } = await ask(`/admin/accounts/${id}/keys`, admin, z.object({ key: z.string() }), { name: "client", quota: null });
  return {
    baseURL: `${baseUrl()}/openai/v1`,
    apiKey: key,
    used: async () => (await ask("/v1/user/balance", key, z.object({ used_balance: z.number() }))).used_balance,
  };
}
