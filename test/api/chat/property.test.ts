/** The charge of a chat, for any stream that an upstream may send, and wherever the upstream or the caller stops. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { type Account, newAccount, shortenPauses } from "../../support/gateway.ts";
import { capture } from "../../providers/support.ts";
import { toEnv } from "../../support/models.ts";

shortenPauses();

const secret = "SecretMaker sk-upstream-key";
const question = "a private question";
/** Millionths per million tokens of textA-1. */
const rates = { input: 2_000_000, output: 8_000_000 };

/** One event of a stream: its text, how many of its bytes count as generated, and the usage it reports. */
interface Event {
  line: string;
  generated: number;
  report?: { prompt: number; completion: number };
  /** True if this event starts the answer. */
  begins: boolean;
}

const toBytes = (text: string) => new TextEncoder().encode(text).length;
const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: "x", provider: secret, system_fingerprint: secret, object: "chat.completion.chunk", ...fields })}\n\n`;
const deltaEvent = (delta: object, generated: number): Event => ({
  line: chunk({ choices: [{ index: 0, delta, finish_reason: null, native_finish_reason: secret }] }),
  generated,
  begins: true,
});

const text = fc.string({ unit: "grapheme", maxLength: 60 });
const delta = fc.oneof(
  ...["content", "reasoning_content", "reasoning", "refusal", "thoughts"].map((field) =>
    text.map((value) => deltaEvent({ [field]: value }, toBytes(value))),
  ),
  fc
    .tuple(text, text)
    .map(([name, args]) =>
      deltaEvent({ tool_calls: [{ index: 0, id: "call", function: { name, arguments: args } }] }, toBytes(name + args)),
    ),
  text.map((value) => {
    // Some upstreams send an object, which stands for its JSON.
    const object = { [value]: value };
    return deltaEvent({ tool_calls: [{ index: 0, function: { arguments: object } }] }, toBytes(JSON.stringify(object)));
  }),
  fc.tuple(text, text).map(([name, args]) => deltaEvent({ function_call: { name, arguments: args } }, toBytes(name + args))),
  text.map((value) => deltaEvent({ audio: { id: "a", data: value } }, toBytes(value))),
  text.map((value) => deltaEvent({ annotations: [{ type: "url_citation", url_citation: { title: value } }] }, toBytes(value))),
  fc.constant(deltaEvent({ role: "assistant", content: null }, 0)),
);
const report = fc.record({ prompt: fc.integer({ min: 1, max: 5000 }), completion: fc.nat(5000) }).map(({ prompt, completion }): Event => ({
  line: chunk({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion, cost: 1, cost_details: secret } }),
  generated: 0,
  report: { prompt, completion },
  begins: true,
}));
const comment = fc.constant<Event>({ line: `: ${secret}\n\n`, generated: 0, begins: false });
const events = fc.array(fc.oneof({ weight: 8, arbitrary: delta }, { weight: 1, arbitrary: report }, { weight: 1, arbitrary: comment }), {
  maxLength: 25,
});

/** How the upstream ends: complete, with its own error, with a broken connection, or after any byte. */
const end = fc.oneof(
  fc.constant({ kind: "done" as const }),
  fc.constantFrom("server_error", "content_filter", "rate_limit_exceeded", 429, null).map((code) => ({ kind: "error" as const, code })),
  fc.constant({ kind: "garbled" as const }),
  fc.record({ kind: fc.constantFrom("break" as const, "stop" as const), at: fc.nat(4000) }),
);

const scenario = fc.record({
  events,
  end,
  isByteStream: fc.boolean(),
  cuts: fc.array(fc.nat(4000), { maxLength: 10 }),
  hangUpAt: fc.option(fc.nat(4000), { nil: undefined }),
  maxTokens: fc.constantFrom(1, 100, 100_000),
  includeUsage: fc.boolean(),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

const endings = {
  done: "data: [DONE]\n\n",
  error: "",
  garbled: `data: ${secret}\n\n`,
  break: "",
  stop: "",
};

/** The bytes of a stream, and the events that arrive complete. */
function script({ events, end }: Scenario) {
  const ending = end.kind === "error" ? `data: ${JSON.stringify({ error: { message: secret, code: end.code } })}\n\n` : endings[end.kind];
  const whole = new TextEncoder().encode(events.map(({ line }) => line).join("") + ending);
  const bytes = "at" in end ? whole.slice(0, end.at) : whole;
  let length = 0;
  const arrived = events.filter(({ line }) => (length += toBytes(line)) <= bytes.length + 1);
  return { bytes, arrived };
}

/** The stream in chunks; it breaks or ends after the last one. */
function toStream({ end, cuts, isByteStream }: Scenario, bytes: Uint8Array): ReadableStream<Uint8Array> {
  const places = [...new Set([0, ...cuts.filter((at) => at < bytes.length), bytes.length])].sort((a, b) => a - b);
  const pieces = places.slice(1).map((to, at) => bytes.slice(places[at], to));
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array> | ReadableByteStreamController) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else if (end.kind === "break") controller.error(new Error(secret));
      else controller.close();
    },
  };
  return isByteStream ? new ReadableStream({ type: "bytes", ...source }) : new ReadableStream(source);
}

/** Sends a chat to the gateway with this upstream as the sandbox; the caller reads until it disconnects or the stream ends. */
async function run(account: Account, one: Scenario, upstream: ReadableStream<Uint8Array>) {
  const context = createExecutionContext();
  const request = new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "textA-1",
      stream: true,
      stream_options: { include_usage: one.includeUsage },
      max_tokens: one.maxTokens,
      messages: [{ role: "user", content: question }],
    }),
  });
  const SANDBOX = { fetch: async () => new Response(upstream, { headers: { "content-type": "text/event-stream" } }) } as unknown as Fetcher;
  const ROUTES = { "textA-1": [{ provider: "sandbox", model: "textA-1" }] };
  const response = await worker.fetch(request, toEnv({ SANDBOX, ROUTES }), context);
  expect(response.status).toBe(200);
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  let seen = "";
  let isBroken = false;
  try {
    for (;;) {
      if (one.hangUpAt !== undefined && toBytes(seen) >= one.hangUpAt) {
        await reader.cancel();
        break;
      }
      const { value, done } = await reader.read();
      if (done) break;
      seen += decoder.decode(value, { stream: true });
    }
  } catch {
    isBroken = true;
  }
  await waitOnExecutionContext(context);
  return { seen, isBroken };
}

/** The one new settlement in the account's wallet or in D1, and the amount that is still reserved. */
async function newEntry(account: Account, known: Set<string>) {
  const wallet = env.WALLETS.getByName(account.id);
  const unwritten = (await wallet.unwritten()).map(({ taskId: id, held, end }) => ({ id, held, charged: end?.charged }));
  const { results } = await env.DB.prepare("SELECT task_id AS id, held, charged FROM entry WHERE account_id = ?1")
    .bind(account.id)
    .run<{ id: string; held: number; charged: number }>();
  const fresh = new Map([...unwritten, ...results].filter(({ id }) => !known.has(id)).map((entry) => [entry.id, entry]));
  expect(fresh.size).toBe(1);
  const [entry] = fresh.values();
  known.add(entry!.id);
  expect(entry!.charged).toBeTypeOf("number");
  const { [account.id]: balance } = await wallet.balances();
  return { held: entry!.held, charged: entry!.charged!, reserved: balance!.reserved };
}

/** After its report the upstream sends one more event, in which nothing is generated but an id stands. */
const idAfterReport: Scenario = {
  events: [
    {
      line: chunk({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 0 } }),
      generated: 0,
      report: { prompt: 1, completion: 0 },
      begins: true,
    },
    deltaEvent({ audio: { id: "audio_1", data: "" } }, 0),
  ],
  end: { kind: "done" },
  isByteStream: false,
  cuts: [],
  hangUpAt: undefined,
  maxTokens: 100,
  includeUsage: false,
};

test("whatever the upstream sends and whichever side stops: 0 <= charged <= reserved, and at least the reported or sent amount", async () => {
  const lines = capture();
  const account = await newAccount(1_000_000);
  const known = new Set<string>();
  await fc.assert(
    fc.asyncProperty(scenario, async (one) => {
      const { bytes, arrived } = script(one);
      const { seen, isBroken } = await run(account, one, toStream(one, bytes));
      const { held, charged, reserved } = await newEntry(account, known);

      expect(reserved).toBe(0);
      expect(charged).toBeGreaterThanOrEqual(0);
      expect(charged).toBeLessThanOrEqual(held);
      const lastReport = arrived.findLastIndex(({ report }) => report);
      const said = arrived[lastReport]?.report;
      const sent = arrived.slice(lastReport + 1).reduce((sum, { generated }) => sum + generated, 0);
      const tokens = { prompt: said?.prompt ?? toBytes(question), completion: (said?.completion ?? 0) + sent };
      const isNothingMade = one.end.kind === "error" && !arrived.some(({ begins }) => begins);
      const least = isNothingMade ? 0 : Math.ceil((tokens.prompt * rates.input + tokens.completion * rates.output) / 1e6);
      expect(charged).toBeGreaterThanOrEqual(Math.min(held, least));
      // With a usage report, exactly that is charged.
      if (said && sent === 0) expect(charged).toBe(Math.min(held, least));

      expect(seen).not.toMatch(/SecretMaker|sk-upstream|"(?:provider|cost|cost_details|system_fingerprint|native_finish_reason)"/);
      expect(lines.join("\n")).not.toMatch(/SecretMaker|sk-upstream/);
      const own = seen.split("\n\n").filter((event) => event.startsWith("data: "));
      if (one.hangUpAt === undefined) {
        expect(own.at(-1) === "data: [DONE]").toBe(one.end.kind === "done");
        expect(own.filter((event) => event.startsWith('data: {"error"'))).toHaveLength(one.end.kind === "done" ? 0 : 1);
        expect(isBroken).toBe(["break", "stop", "garbled"].includes(one.end.kind));
      }
      expect(lines.join("\n")).not.toContain(question);
      lines.length = 0;
    }),
    { numRuns: 120, examples: [[idAfterReport]] },
  );
}, 120_000);
