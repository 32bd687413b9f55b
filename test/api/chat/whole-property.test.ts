/** The charge of a whole (not streamed) chat, for any answer that an upstream may send and any byte at which it or its caller stops. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { type Account, readBalance, call, newAccount, shortenPauses } from "../../support/gateway.ts";
import { capture } from "../../providers/support.ts";
import { toEnv } from "../../support/models.ts";

shortenPauses();

const secret = "SecretMaker sk-upstream-key";
const question = "a private question";
/** Millionths per million tokens of textA-1. */
const rates = { input: 2_000_000, output: 8_000_000 };

const limits = [1, 100, 100_000];

const toBytes = (text: string) => new TextEncoder().encode(text).length;
const text = fc.string({ unit: "grapheme", maxLength: 60 });

/** A message and the bytes that were generated for it. */
const message = fc
  .record({ content: fc.option(text), reasoning: text, refusal: fc.option(text), name: text, args: text, audio: text })
  .map(({ content, reasoning, refusal, name, args, audio }) => ({
    fields: {
      role: "assistant",
      content,
      reasoning_content: reasoning,
      refusal,
      tool_calls: [{ id: "", type: "function", function: { name, arguments: args } }],
      audio: { id: "", data: audio },
      provider_specific_fields: {},
    },
    generated: toBytes([content ?? "", reasoning, refusal ?? "", name, args, audio].join("")),
  }));
const usage = fc.record({ prompt: fc.integer({ min: 1, max: 5000 }), completion: fc.nat(5000) });

const scenario = fc.record({
  message,
  usage: fc.option(usage, { nil: undefined }),
  end: fc.oneof(
    { weight: 2, arbitrary: fc.constant({ kind: "whole" as const }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("break" as const, "stop" as const), at: fc.nat(1200) }) },
    { weight: 1, arbitrary: fc.constantFrom("server_error", 429, null).map((code) => ({ kind: "error" as const, code })) },
    { weight: 1, arbitrary: fc.constantFrom(400, 429, 500).map((status) => ({ kind: "refused" as const, status })) },
  ),
  cuts: fc.array(fc.nat(1200), { maxLength: 6 }),
  hangsUp: fc.constantFrom("no" as const, "no" as const, "before" as const, "amid" as const),
  maxTokens: fc.constantFrom(...limits),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** The upstream's answer, and whether all of it arrives. */
function script({ message, usage, end }: Scenario) {
  const error = { error: { message: secret, code: "code" in end ? end.code : "server_error" } };
  const body = {
    id: secret,
    provider: secret,
    system_fingerprint: secret,
    choices: [{ index: 0, message: message.fields, finish_reason: "stop", native_finish_reason: secret }],
    ...(usage && { usage: { prompt_tokens: usage.prompt, completion_tokens: usage.completion, cost: 1, cost_details: secret } }),
  };
  const all = new TextEncoder().encode(JSON.stringify(end.kind === "error" || end.kind === "refused" ? error : body));
  const bytes = "at" in end ? all.slice(0, end.at) : all;
  return { bytes, isWhole: bytes.length === all.length && end.kind !== "break" };
}

/** Sends a chat to the gateway with this upstream as the sandbox. */
async function run(account: Account, one: Scenario, bytes: Uint8Array) {
  const caller = new AbortController();
  if (one.hangsUp === "before") caller.abort();
  const places = [...new Set([0, ...one.cuts.filter((at) => at < bytes.length), bytes.length])].sort((a, b) => a - b);
  const pieces = places.slice(1).map((to, at) => bytes.slice(places[at], to));
  const upstream = new ReadableStream({
    pull(controller) {
      if (one.hangsUp === "amid" && pieces.length <= 1) caller.abort();
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else if (one.end.kind === "break") controller.error(new Error(secret));
      else controller.close();
    },
  });
  const status = one.end.kind === "refused" ? one.end.status : 200;
  let isAsked = false;
  const SANDBOX = {
    fetch: async () => {
      isAsked = true;
      return new Response(upstream, { status, headers: { "content-type": "application/json" } });
    },
  };
  const ROUTES = { "textA-1": [{ provider: "sandbox", model: "textA-1" }] };
  const request = new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "textA-1", max_tokens: one.maxTokens, messages: [{ role: "user", content: question }] }),
    signal: caller.signal,
  });
  const context = createExecutionContext();
  const response = await worker.fetch(request, toEnv({ SANDBOX: SANDBOX as unknown as Fetcher, ROUTES }), context);
  const seen = await response.text();
  await waitOnExecutionContext(context);
  return { status: response.status, seen, isAsked };
}

/** The hold of such a chat in millionths. */
async function computePrice(account: Account, maxTokens: number): Promise<number> {
  const body = { model: "textA-1", max_tokens: maxTokens, messages: [{ role: "user", content: question }] };
  const { body: answer } = await call("/v1/chat/completions?dry_run=true", { key: account.key, body });
  return Math.round((answer as { price: number }).price * 1e6);
}

test("whatever a whole answer contains and whichever side stops: 0 <= charged <= reserved, and at least the reported or sent amount", async () => {
  const lines = capture();
  const account = await newAccount(1_000_000);
  const holds = new Map<number, number>();
  for (const maxTokens of limits) holds.set(maxTokens, await computePrice(account, maxTokens));
  let before = 0;
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      const { bytes, isWhole } = script(one);
      const { status, seen, isAsked } = await run(account, one, bytes);
      const { used, reserved } = await readBalance(account);
      const charged = Math.round((used - before) * 1e6);
      before = used;

      expect(reserved).toBe(0);
      // A short answer is pulled when it is made, so "amid" may be before an upstream is asked too.
      if (one.hangsUp !== "amid") expect(isAsked).toBe(one.hangsUp === "no");
      if (!isAsked) {
        expect({ status, charged }).toEqual({ status: 503, charged: 0 });
        return;
      }
      const isMade = one.end.kind !== "error" && one.end.kind !== "refused";
      const isRefused = one.end.kind === "refused" || (one.end.kind === "error" && one.hangsUp === "no");
      const estimate = toBytes(question);
      const reported = isMade && isWhole ? one.usage : undefined;
      const sent = !isMade ? 0 : isWhole ? one.message.generated : bytes.length;
      const tokens = { prompt: reported?.prompt ?? estimate, completion: reported?.completion ?? sent };
      const held = holds.get(one.maxTokens)!;
      const least = isRefused ? 0 : Math.min(held, Math.ceil((tokens.prompt * rates.input + tokens.completion * rates.output) / 1e6));
      expect(charged).toBeLessThanOrEqual(held);
      expect(charged).toBeGreaterThanOrEqual(least);
      if (reported) expect(charged).toBe(least);
      if (isRefused) expect(charged).toBe(0);

      expect(status === 200).toBe(isMade && isWhole);
      expect(seen).not.toMatch(/SecretMaker|sk-upstream|"(?:provider|cost|cost_details|system_fingerprint|native_finish_reason)"/);
      expect(lines.join("\n")).not.toMatch(/SecretMaker|sk-upstream/);
      expect(lines.join("\n")).not.toContain(question);
      lines.length = 0;
    }),
    { numRuns: 120 },
  );
}, 120_000);
