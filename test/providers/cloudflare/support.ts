/** How tests go through either door to the emulated Cloudflare: the binding, or REST where the gateway has none. */

import { expect } from "vitest";
import { call, deliver, pass } from "../../support/gateway.ts";
import { routesTo, sent, submitTo } from "../support.ts";

export type Door = "binding" | "rest";
export const doors: Door[] = ["binding", "rest"];

const withoutBinding = { AI: undefined } as unknown as Partial<Env>;
export const varsOf = (door: Door): Partial<Env> => (door === "rest" ? withoutBinding : {});

/** Submits under routes to these models, the first one first, and lets queue and alarms work: the final task. */
export async function generateBy(vars: Door | Partial<Env>, models: string[], path: string, body: { model: string }, rounds = 12) {
  const routes = routesTo("cloudflare", body.model, ...models);
  const { account, status, body: made } = await submitTo(routes, path, body);
  expect(status, JSON.stringify(made)).toBe(200);
  const { id } = made as { id: string };
  for (let round = 0; round < rounds; round++) {
    await deliver(id, "gateway-dispatch", typeof vars === "string" ? varsOf(vars) : vars);
    const { data } = (await call(`/v1/tasks/${id}`, { key: account.key })).body;
    if (["completed", "failed"].includes(data.status)) return { account, id, data };
    await pass(id, 2);
  }
  throw new Error("it does not end");
}

/** The bodies of the calls that made something. */
export const startsOf = async (prompt: string) => (await sent(prompt)) as { door: Door; model: string; input: Record<string, unknown> }[];

/** The first bytes of each asset, which must load, as text. */
export async function headsOf(urls: string[]): Promise<string[]> {
  const heads: string[] = [];
  for (const url of urls) {
    const { status, body } = await call(url);
    expect(status).toBe(200);
    heads.push(new TextDecoder().decode(new Uint8Array(body as ArrayBuffer).subarray(1, 8)));
  }
  return heads;
}

export const png = "PNG\r\n\u001a\n";
export const images = "/v1/images/generations";
export const videos = "/v1/videos/generations";

/** An image as callers send it inline. */
export const inline =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** A public image, which Cloudflare made: its address. */
export async function publicImage(): Promise<string> {
  const response = await fetch("https://api.cloudflare.com/client/v4/accounts/test-account/ai/run", {
    method: "POST",
    headers: { authorization: "Bearer test-cloudflare-token", "content-type": "application/json" },
    body: JSON.stringify({ model: "bytedance/seedream-4.0", input: { prompt: `a public image ${crypto.randomUUID()}` } }),
  });
  return (await response.json<{ result: { image: string } }>()).result.image;
}
