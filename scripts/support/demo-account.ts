/** The demo account: found or created through the admin API, with a new key on every start. */

import type * as z from "zod/mini";
import { account, accountList, newApiKey } from "./api-answers.ts";

const email = "demo@example.com";
/** Only for a local gateway. */
const password = "demo-password";
/** Balance units, also for every other user who signs up on this machine. */
export const demoQuota = 100;

/** The demo account and its remaining balance. */
export interface DemoAccount {
  email: string;
  /** Its login for the console. */
  password: string;
  apiKey: string;
  /** In balance units; null is unlimited. */
  remaining: number | null;
}

/** Signs up the demo user, which creates the account. On later starts this is refused, which is ignored. */
export async function signUpDemo(baseUrl: string): Promise<void> {
  const response = await fetch(`${baseUrl}/console/sign-up`, {
    method: "POST",
    headers: { origin: new URL(baseUrl).origin },
    body: new URLSearchParams({ name: "Demo", email, password }),
    redirect: "manual",
    signal: AbortSignal.timeout(30_000),
  });
  if (response.status >= 500) throw new Error(`POST /console/sign-up answered ${response.status}`);
}

/** Makes sure that the demo account exists and has the admin role, and creates a key for it. */
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
  const found = await ask(accountList, "GET", `/accounts?email=${encodeURIComponent(email)}`);
  const { id, remaining } = found.data[0] ?? (await ask(account, "POST", "/accounts", { email, name: "Demo", quota: demoQuota }));
  await ask(account, "PATCH", `/accounts/${id}`, { admin: true });
  const { key } = await ask(newApiKey, "POST", `/accounts/${id}/keys`, { name: "demo", quota: null });
  return { email, password, apiKey: key, remaining };
}
