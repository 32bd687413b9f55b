/** One gateway with its own state, sample tasks of the demo account and Stripe in memory, and one Chromium, for the whole run. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { chromiumOptions } from "../../../scripts/support/chromium.ts";
import { type Gateway, startGateway } from "../../../scripts/support/gateway.ts";
import { makeSamples } from "../../../scripts/support/sample-tasks.ts";
import { startStripe } from "../../programs/support/stripe-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The gateway as `npm start` runs it: its URL, the demo login, the operator's token. */
    gateway: Pick<Gateway, "baseUrl" | "adminToken"> & { account: NonNullable<Gateway["account"]> };
    /** Chromium's WebSocket endpoint. */
    chromium: string;
    /** The address at which Stripe's page for a payment is, instead of checkout.stripe.com. */
    checkout: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = await chromium.launchServer(chromiumOptions());
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-browser-"));
  let gateway: Gateway | undefined;
  const stripe = await startStripe();
  const tearDown = async () => {
    await Promise.all([browser.close(), gateway?.stop()]);
    stripe.close();
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    gateway = await startGateway({ stateDir, quiet: true, env: stripe.env });
    await makeSamples(gateway);
  } catch (error) {
    await tearDown();
    throw error;
  }
  const { baseUrl, adminToken, account } = gateway;
  stripe.sendEventsTo(`${baseUrl}/payments/stripe`);
  project.provide("checkout", stripe.env.STRIPE_BASE_URL);
  project.provide("gateway", { baseUrl, adminToken, account: account! });
  project.provide("chromium", browser.wsEndpoint());
  return tearDown;
}
