/** Runs the checks like the cron trigger does, with a receiver of alerts instead of the internet. */

import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { vi } from "vitest";
import type { Alert } from "../../src/db/alerts.ts";
import { Objects } from "../../src/rpc/objects.ts";
import { runChecks } from "../../src/operations/run.ts";
import { toEnv, type Vars } from "../support/models.ts";

const webhookUrl = "https://pager.example/alerts";
export const webhookSecret = `whsec_${btoa("a secret of thirty-two bytes here")}`;

/** A received alert, its signature checked with the reference library. */
export interface Received {
  id: string;
  type: string;
  data: { name: string; began_at: number; ended_at: number | null; causes: string[] };
}

/** Replaces the internet by a receiver of alerts that answers with `statuses` in turn, 204 after the last one. */
export function alertReceiver(statuses: number[] = []): Received[] {
  const received: Received[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const request = new Request(input, init);
    if (request.url !== webhookUrl) throw new TypeError("Network connection lost.");
    const body = await request.text();
    const event = new Webhook(webhookSecret).verify(body, Object.fromEntries(request.headers)) as Omit<Received, "id">;
    received.push({ id: request.headers.get("webhook-id")!, ...event });
    return new Response(null, { status: statuses.shift() ?? 204 });
  });
  return received;
}

/** One run of the checks with a receiver configured; `vars` overrides variables, `gateway` those of the gateway. */
export const runOnce = (vars: Partial<OperationsBindings> = {}, gateway: Vars = {}): Promise<void> =>
  runChecks(
    { DB: env.DB, ASSETS: env.ASSETS, ALERT_WEBHOOK: webhookUrl, ALERT_SIGNING_SECRET: webhookSecret, ...vars },
    new Objects(toEnv(gateway)),
  );

/** The received notices of one alert: type and causes. */
export const readChanges = (received: Received[], name: Alert["name"]) =>
  received.filter(({ data }) => data.name === name).map(({ type, data }) => [type, data.causes] as const);
