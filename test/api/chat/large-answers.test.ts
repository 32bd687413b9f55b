/** Large whole answers: how many of them an isolate keeps in memory at once, and that the others wait. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, test } from "vitest";
import worker from "../../../src/worker.ts";
import { type Account, newAccount, readBalance } from "../../support/gateway.ts";
import { toEnv } from "../../support/models.ts";

const KiB = 1024;
const ROUTES = { "textA-1": [{ provider: "sandbox", model: "textA-1" }] };
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };

/** An answer with this much text that stops before its end until it is let go on. */
function newUpstream(bytes: number) {
  const message = { role: "assistant", content: "x".repeat(bytes) };
  const whole = new TextEncoder().encode(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
  const gate = Promise.withResolvers<void>();
  let at = 0;
  const body = new ReadableStream({
    type: "bytes",
    async pull(controller) {
      if (at >= bytes - 64 * KiB) await gate.promise;
      controller.enqueue(whole.slice(at, (at += 64 * KiB)));
      if (at >= whole.length) controller.close();
    },
  });
  return { body, goOn: gate.resolve, sent: () => at };
}

function ask(account: Account, body: ReadableStream) {
  const context = createExecutionContext();
  const SANDBOX = { fetch: async () => new Response(body) } as unknown as Fetcher;
  const request = new Request("https://gateway.example/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "textA-1", max_tokens: 10, messages: [{ role: "user", content: "a question" }] }),
  });
  const answer = worker.fetch(request, toEnv({ SANDBOX, ROUTES }), context) as Promise<Response>;
  return { answer, settled: answer.then(() => waitOnExecutionContext(context)) };
}

test("three large answers are in memory at once, one of an account; the others wait, and nobody loses one", async () => {
  const size = 1024 * KiB;
  const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => newAccount()));
  const accounts = [first!, first!, ...others];
  const upstreams = accounts.map(() => newUpstream(size));
  const asked = accounts.map((account, at) => ask(account, upstreams[at]!.body));
  const isLarge = ({ sent }: (typeof upstreams)[0]) => sent() > 512 * KiB;
  await expect.poll(() => upstreams.filter(isLarge).length).toBe(3);
  // A small answer waits for none of them.
  const small = newUpstream(100);
  small.goOn();
  expect((await ask(others[0]!, small.body).answer).status).toBe(200);
  expect(upstreams.filter(isLarge)).toHaveLength(3);
  expect(upstreams.slice(0, 2).filter(isLarge)).toHaveLength(1);
  for (const { goOn } of upstreams) goOn();
  for (const { answer, settled } of asked) {
    const response = await answer;
    expect(response.status).toBe(200);
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    expect(choices[0]!.message.content).toHaveLength(size);
    await settled;
  }
  expect((await readBalance(first!)).reserved).toBe(0);
});

test("an answer of more than 8 MiB is not read on", async () => {
  const account = await newAccount();
  const upstream = newUpstream(9 * 1024 * KiB);
  upstream.goOn();
  const { answer, settled } = ask(account, upstream.body);
  expect((await answer).status).toBe(500);
  await settled;
  expect(upstream.sent()).toBeLessThan(8.2 * 1024 * KiB);
  const { used, reserved } = await readBalance(account);
  expect([used > 0, reserved]).toEqual([true, 0]);
});
