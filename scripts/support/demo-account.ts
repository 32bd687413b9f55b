/** The demo account: found or created through the admin API, with a fresh key on every start. */

import type * as z from "zod/mini";
import { account, accountList, newApiKey } from "./api-answers.ts";

const email = "demo@example.com";
/** For a gateway on this machine alone. */
const password = "demo-password";
/** Balance units, also of everybody else who signs up on this machine. */
export const demoQuota = 100;

/** Who the demo is, and what it may still spend. */
export interface DemoAccount {
  email: string;
  /** Of the console. */
  password: string;
  apiKey: string;
  /** In balance units; null is unlimited. */
  remaining: number | null;
}

/** Signs the demo's person up, who gets an account with that. Not the first time it is refused, and that is fine. */
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

/** Makes sure that the demo account exists and sees the operator's pages, and creates a key for it. */
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
