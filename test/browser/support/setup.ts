/** One gateway with its own state and sample tasks of the demo account, and one Chromium, for the whole run. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { chromiumOptions } from "../../../scripts/support/chromium.ts";
import { type Gateway, startGateway } from "../../../scripts/support/gateway.ts";
import { makeSamples } from "../../../scripts/support/sample-tasks.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The gateway as `npm start` runs it: its URL, the demo login, the operator's token. */
    gateway: Pick<Gateway, "baseUrl" | "adminToken"> & { account: NonNullable<Gateway["account"]> };
    /** Chromium's WebSocket endpoint. */
    chromium: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const browser = await chromium.launchServer(chromiumOptions());
  const stateDir = await mkdtemp(join(tmpdir(), "gateway-browser-"));
  let gateway: Gateway | undefined;
  const tearDown = async () => {
    await Promise.all([browser.close(), gateway?.stop()]);
    await rm(stateDir, { recursive: true, force: true });
  };
  try {
    gateway = await startGateway({ stateDir, quiet: true });
    await makeSamples(gateway);
  } catch (error) {
    await tearDown();
    throw error;
  }
  const { baseUrl, adminToken, account } = gateway;
  project.provide("gateway", { baseUrl, adminToken, account: account! });
  project.provide("chromium", browser.wsEndpoint());
  return tearDown;
}
