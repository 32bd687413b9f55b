/** The demo account: found or created through the admin API, with a fresh key on every start. */

import * as z from "zod/mini";

const email = "demo@example.com";
const quota = 100;

/** Who the demo is, and what it may still spend. */
export interface DemoAccount {
  email: string;
  apiKey: string;
  /** In balance units; null is unlimited. */
  remaining: number | null;
}

const account = z.object({ id: z.string(), remaining: z.nullable(z.number()) });
const accounts = z.object({ data: z.array(account) });
const createdKey = z.object({ key: z.string() });

/** Makes sure that the demo account exists, and creates a key for it. */
export async function createDemoKey(baseUrl: string, adminToken: string): Promise<DemoAccount> {
  const ask = async <T>(shape: z.ZodMiniType<T>, method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(`${baseUrl}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /admin${path} answered ${response.status}: ${text.slice(0, 500)}`);
    return shape.parse(JSON.parse(text));
  };
  const found = await ask(accounts, "GET", `/accounts?email=${encodeURIComponent(email)}`);
  const { id, remaining } = found.data[0] ?? (await ask(account, "POST", "/accounts", { email, name: "Demo", quota }));
  const { key } = await ask(createdKey, "POST", `/accounts/${id}/keys`, { name: "demo", quota: null });
  return { email, apiKey: key, remaining };
}
