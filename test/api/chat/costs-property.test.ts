/** Whatever routes a chat passes and wherever its answer ends: the booked costs are what the makers bill for the tokens that they report, else for the estimate of the prompt and the bytes that came back; and the caller pays for the same tokens by the model's price. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { call, chatsSettled, newAccount, wakeWallet, shortenPauses } from "../../support/gateway.ts";
import { toEnv } from "../../support/models.ts";
import { capture } from "../../providers/support.ts";

shortenPauses();

const question = "a question of the caller";

/** Whole millionths for a token: no rounding, so that a maker's bill is plain arithmetic. */
const amount = fc.integer({ min: 0, max: 9 });
const cost = fc.oneof(
  fc.constant(undefined),
  fc.record({ input: amount, output: amount }),
  fc.record({ input: amount, cached_input: amount, output: amount }),
  fc.constant({ usd: 1 }),
  fc.record({ input: amount, output: amount, usd: fc.constant(2) }),
);
/** What the maker counts: at most a token for each byte, and a part of the prompt from its cache. */
const tokens = fc
  .record({
    prompt: fc.integer({ min: 1, max: question.length }),
    cached: fc.nat(question.length),
    words: fc.array(fc.constantFrom("a ", "long ", "語 ")),
  })
  .map(({ prompt, cached, words }) => ({ prompt, cached: Math.min(prompt, cached), words }));
const route = fc.record({
  cost,
  bills: fc.boolean(),
  tokens,
  /** The maker's own account, in millionths of a dollar. */
  dollars: fc.option(fc.nat(500), { nil: undefined }),
  end: fc.constantFrom("fault", "limit", "refused", "made", "made", "made", "unreported", "broken", "broken after the report", "error"),
});
type Made = typeof route extends fc.Arbitrary<infer T> ? T : never;

const usageOf = ({ tokens: { prompt, cached, words }, dollars }: Made) => ({
  prompt_tokens: prompt,
  completion_tokens: words.length,
  total_tokens: prompt + words.length,
  prompt_tokens_details: { cached_tokens: cached },
  ...(dollars !== undefined && { cost_in_usd_ticks: dollars * 10_000 }),
});

/** The events of the maker's answer, or the whole of it: one that breaks off lacks its last byte, and has no report. */
function toParts(one: Made, stream: boolean): string[] {
  const { end, tokens } = one;
  const usage = end === "unreported" || end === "broken" ? undefined : usageOf(one);
  const message = { role: "assistant", content: tokens.words.join("") };
  if (!stream) {
    const whole = JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    return [end.startsWith("broken") ? whole.slice(0, -1) : whole];
  }
  return [
    ...tokens.words.map((content) => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    ...(end === "broken" ? [] : [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }]),
    ...(usage ? [{ choices: [], usage }] : []),
  ].map((event) => `data: ${JSON.stringify(event)}\n\n`);
}

/** The maker's answer. */
function answer(one: Made, stream: boolean): Response {
  const { end } = one;
  if (end === "fault") return Response.json({ error: { code: "server_error" } }, { status: 500 });
  if (end === "limit") return Response.json({ error: { code: "rate_limited" } }, { status: 429 });
  if (end === "refused") return Response.json({ error: { code: "content_policy_violation" } }, { status: 422 });
  const type = { headers: { "content-type": stream ? "text/event-stream" : "application/json" } };
  if (end === "error") return new Response(`${stream ? "data: " : ""}${JSON.stringify({ error: { code: "server_error" } })}\n\n`, type);
  const isBroken = end.startsWith("broken");
  const parts = [...toParts(one, stream), ...(isBroken || !stream ? [] : ["data: [DONE]\n\n"])];
  const body = new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part !== undefined) controller.enqueue(new TextEncoder().encode(part));
      else if (isBroken) controller.error(new Error("broken off"));
      else controller.close();
    },
  });
  return new Response(body, type);
}

/** Ends before any answer. */
const refusals = new Set(["fault", "limit", "refused", "error"]);

/** The bytes that came back without a report, each of which counts as a token: the words, or all of a whole answer that cannot be read. */
const countBytes = (one: Made, stream: boolean): number => {
  const isUnreadable = !stream && one.end.startsWith("broken");
  return new TextEncoder().encode((isUnreadable ? toParts(one, stream) : one.tokens.words).join("")).length;
};

/** Tokens as they count. `isReported`: as the maker has reported them. */
interface Counted {
  isReported: boolean;
  prompt: number;
  cached: number;
  output: number;
}

/** What is booked for the maker, in millionths; null if that cannot be known: the route has no cost, or its cost needs a report that did not come. */
function bill({ cost, bills, dollars, end }: Made, { isReported, prompt, cached, output: made }: Counted): number | null {
  const hasAnswered = !refusals.has(end);
  if (!hasAnswered && !bills) return 0;
  if (cost === undefined) return null;
  const { input = 0, cached_input, output = 0, usd } = cost as Record<string, number | undefined>;
  if (usd !== undefined && isReported && dollars !== undefined) return usd * dollars;
  if (usd !== undefined && (cost as { input?: number }).input === undefined) return null;
  const fromCache = cached_input === undefined ? 0 : cached;
  return input * (prompt - fromCache) + (cached_input ?? 0) * fromCache + output * made;
}

/** What callers pay, in millionths for a token. */
const price = { input: 7, cached_input: 2, output: 5 };
/** The tokens of an answer whose caller gives no limit. */
const maxAnswer = 4096;

const scenario = fc.record({
  routes: fc.array(route, { minLength: 1, maxLength: 3 }),
  stream: fc.boolean(),
  /** The caller leaves after this many pieces of the answer. */
  leavesAt: fc.option(fc.nat(4), { nil: undefined }),
});

test("the booked costs of a chat are what its makers bill", async () => {
  capture();
  const ends = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scenario, async ({ routes, stream, leavesAt }) => {
      const account = await newAccount();
      const asked: Made[] = [];
      const SANDBOX = {
        fetch: async (_: string, { body }: { body: string }) => {
          const one = routes[Number((JSON.parse(body) as { model: string }).model.slice(1))]!;
          asked.push(one);
          return answer(one, stream);
        },
      };
      const sold = routes.map(({ cost: costs, bills }, at) => ({
        provider: "sandbox",
        model: `m${at}`,
        bills_failures: bills,
        ...(costs && { cost: costs }),
      }));
      const request = new Request("https://gateway.example/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "textA-1", stream, messages: [{ role: "user", content: question }] }),
      });
      const context = createExecutionContext();
      const inMillion = Object.fromEntries(Object.entries(price).map(([name, amount]) => [name, amount * 1e6]));
      const vars = { SANDBOX: SANDBOX as unknown as Fetcher, ROUTES: { "textA-1": sold }, PRICES: { "textA-1": inMillion } };
      const response = await worker.fetch(request, toEnv(vars), context);
      const reader = response.body!.getReader();
      let piece = 0;
      while (piece++ !== leavesAt && (await reader.read().catch(() => undefined))?.done === false);
      await reader.cancel().catch(() => undefined);
      await waitOnExecutionContext(context);
      await chatsSettled(account);
      await wakeWallet(account);

      const entry = await env.DB.prepare("SELECT cost, attempts, charged, held FROM entry WHERE account_id = ?1")
        .bind(account.id)
        .first<{ cost: number | null; attempts: string; charged: number; held: number }>();
      const booked = JSON.parse(entry!.attempts) as [route: string, cost: number | null][];
      expect(booked.map(([name]) => name)).toEqual(asked.map((one, at) => `${at} sandbox m${routes.indexOf(one)}`));
      for (const [at, one] of asked.entries()) {
        const isReported = one.end === "made" || (one.end === "broken after the report" && stream);
        const { prompt, cached, words } = one.tokens;
        // Without a report: the estimate of the prompt, which was held with the most that may be answered, and what came back.
        const estimate = (entry!.held - price.output * maxAnswer) / price.input;
        const counted: Counted = isReported
          ? { isReported, prompt, cached, output: words.length }
          : { isReported, prompt: estimate, cached: 0, output: refusals.has(one.end) ? 0 : countBytes(one, stream) };
        expect(counted.prompt).toBeGreaterThanOrEqual(prompt);
        const billed = bill(one, counted);
        ends.add(`${one.end} ${stream} ${billed === null ? "unknown" : "known"}`);
        expect(booked[at]![1]).toBe(billed);
        if (refusals.has(one.end)) continue;
        const paid = price.input * (counted.prompt - counted.cached) + price.cached_input * counted.cached + price.output * counted.output;
        expect(entry!.charged).toBe(paid);
      }
      expect(entry!.cost).toBe(booked.every(([, one]) => one === null) ? null : booked.reduce((sum, [, one]) => sum + (one ?? 0), 0));
    }),
    { numRuns: 120 },
  );
  // Of the sixteen ends, whole and streamed, chance may miss one; whether its cost was known too is another chance.
  expect(new Set([...ends].map((end) => end.replace(/ \w+$/, ""))).size).toBeGreaterThan(14);
  expect([...ends].filter((end) => end.endsWith(" known")).length).toBeGreaterThan(10);
}, 120_000);

/** A maker's counts that no chat has, as of a broken counter: they count as not reported. */
const wrongReports = [
  { prompt_tokens: 1e308, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 1e308 } },
  { prompt_tokens: 5, completion_tokens: 1e300 },
  { prompt_tokens: 5, completion_tokens: 1, total_tokens: 1e19 },
  { prompt_tokens: 5, completion_tokens: 1, cost_in_usd_ticks: 1e300 },
];

test("counts of a maker that cannot be right hold back no settlement of the account", async () => {
  const account = await newAccount();
  const price = { input: 7e6, cached_input: 2e6, output: 5e6 };
  for (const usage of wrongReports) {
    const SANDBOX = {
      fetch: async () =>
        Response.json({ choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }], usage }),
    } as unknown as Fetcher;
    const routes = [{ provider: "sandbox", model: "m", cost: { input: 7, output: 5, ...("cost_in_usd_ticks" in usage && { usd: 1 }) } }];
    const request = new Request("https://gateway.example/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "textA-1", messages: [{ role: "user", content: question }] }),
    });
    const context = createExecutionContext();
    const vars = { SANDBOX, ROUTES: { "textA-1": routes }, PRICES: { "textA-1": price } };
    expect((await worker.fetch(request, toEnv(vars), context)).status).toBe(200);
    await waitOnExecutionContext(context);
  }
  await chatsSettled(account);
  await wakeWallet(account);
  const { results } = await env.DB.prepare("SELECT charged, cost FROM entry WHERE account_id = ?1").bind(account.id).run();
  expect(results).toHaveLength(wrongReports.length);
  const { body } = await call("/v1/user/balance", { key: account.key });
  expect(body.used_balance).toBeLessThan(1);
});
