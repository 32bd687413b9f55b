/** The provider `compatible`: each of its servers is an account of its own. */

import "../support/alone.ts";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import { incidentsSince } from "../../src/db/alerts.ts";
import { asAdmin, call, holdTime, newAccount, settledBalance, unique } from "../support/gateway.ts";
import { asked } from "./support.ts";

holdTime();
afterEach(() => vi.restoreAllMocks());

test("a server that refuses the key is asked last for a minute, and the others in their order", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const vars = { COMPATIBLE_API_KEY: "test-openai-key" };
  const at = (base_url: string) => ({ provider: "compatible", model: "gpt-5.5", settings: { base_url } });
  // The first knows no such key.
  const routes = [at("https://queue.fal.run/v1/"), at("https://api.openai.com/v1")];
  const entry = { kind: "text", price: { input: 1, output: 1 }, routes };
  expect(await asAdmin("/models/house-llama", { method: "PUT", body: entry, vars })).toMatchObject({ status: 201 });
  const account = await newAccount();
  for (let chats = 0; chats < 2; chats++) {
    const body = { model: "house-llama", messages: [{ role: "user", content: unique() }] };
    expect((await call("/v1/chat/completions", { key: account.key, body, vars })).status).toBe(200);
  }
  expect(await asked("/v1/chat/completions")).toHaveLength(1);
  const failed = await env.DB.prepare("SELECT name FROM call_sum WHERE NOT is_good").run<{ name: string }>();
  expect(failed.results).toEqual([{ name: "route compatible gpt-5.5 https://queue.fal.run/v1/" }]);
  expect(await incidentsSince(env.DB, "provider", 0, 10)).toEqual(["compatible https://queue.fal.run/v1"]);
});

test("two servers with a model of the same name are two routes in the margins", async () => {
  const vars = { COMPATIBLE_API_KEY: "test-openai-key" };
  const at = (base_url: string, cost: number) => ({
    provider: "compatible",
    model: "gpt-5.5",
    settings: { base_url },
    cost: { input: cost, output: cost },
  });
  const servers = ["https://api.openai.com/v1", "https://api.openai.com/v1/"];
  const account = await newAccount();
  for (const [times, server] of servers.entries()) {
    const entry = { kind: "text", price: { input: 100, output: 100 }, routes: [at(server, times + 1)] };
    expect((await asAdmin(`/models/house-${times}`, { method: "PUT", body: entry, vars })).status).toBe(201);
    const body = { model: `house-${times}`, messages: [{ role: "user", content: unique() }] };
    expect((await call("/v1/chat/completions", { key: account.key, body, vars })).status).toBe(200);
  }
  await settledBalance(account);
  await env.WALLETS.getByName(account.id).writeEnded();
  const { data } = (await asAdmin("/margins?group_by=route", { vars })).body;
  expect(data.filter(({ completed }: { completed: number }) => completed === 1)).toMatchObject(
    servers.map((server) => ({ route: `compatible gpt-5.5 ${server}`, uncosted: 0 })).reverse(),
  );
});
