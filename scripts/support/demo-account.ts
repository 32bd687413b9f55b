/** The demo account: found or created through the admin API, with a new key on every start. */

import { AdminClient } from "./admin-client.ts";

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
  const admin = new AdminClient(baseUrl, adminToken);
  const { id, remaining } = await admin.operatorAccount(email, demoQuota, "Demo");
  const { key } = await admin.createKey(id, "demo", null);
  return { email, password, apiKey: key, remaining };
}
