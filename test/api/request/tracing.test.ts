/** The spans of a task and of a chat in the platform's traces. The local runtime traces nothing: a recorder stands in its place. */

import { tracing } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { withSpan } from "../../../src/tracing.ts";
import { call, finish, holdTime, newAccount, submit, unique } from "../../support/gateway.ts";

holdTime();

type Attributes = Record<string, unknown>;

/** The platform's bindings enter spans in the same way. */
const ownNames = /^(?:validate|reserve|dispatch|store|settle|chat .+|generate_content .+)$/;

/** Records the gateway's spans in the order in which they are entered, with their attributes. */
function recordSpans(): { name: string; attributes: Attributes }[] {
  const spans: { name: string; attributes: Attributes }[] = [];
  type Enter = (name: string, work: (span: object) => unknown, ...more: unknown[]) => unknown;
  const prototype = Object.getPrototypeOf(tracing) as Record<"enterSpan", Enter>;
  const { enterSpan } = prototype;
  vi.spyOn(prototype, "enterSpan").mockImplementation((name, work, ...more) => {
    if (!ownNames.test(name)) return enterSpan.call(tracing, name, work, ...more);
    const span = { name, attributes: {} };
    spans.push(span);
    return work({ isTraced: true, setAttributes: (attributes: Attributes) => Object.assign(span.attributes, attributes) });
  });
  return spans;
}

test("a task has a span for each of its steps, and its provider's call the names of the GenAI conventions", async () => {
  const account = await newAccount();
  const prompt = unique();
  const spans = recordSpans();
  const id = await submit(account, "/v1/images/generations", { model: "imgA-4", prompt });
  await finish(account, id);
  expect([...new Set(spans.map(({ name }) => name))]).toEqual([
    "validate",
    "reserve",
    "dispatch",
    "generate_content imgA-4",
    "store",
    "settle",
  ]);
  expect(spans.find(({ name }) => name === "generate_content imgA-4")?.attributes).toEqual({
    "gen_ai.operation.name": "generate_content",
    "gen_ai.output.type": "image",
    "gen_ai.request.model": "imgA-4",
    "gen_ai.provider.name": "sandbox",
    "gateway.task.id": id,
  });
  for (const { attributes } of spans) expect(attributes["gateway.task.id"]).toBe(id);
  for (const secret of [prompt, account.id, account.key]) expect(JSON.stringify(spans)).not.toContain(secret);
});

test("a provider that the conventions name otherwise has that name", async () => {
  const spans = recordSpans();
  withSpan("provider", { kind: "video", model: "veo-3.1", provider: "google" }, () => undefined);
  expect(spans).toMatchObject([
    { name: "generate_content veo-3.1", attributes: { "gen_ai.provider.name": "gcp.gen_ai", "gen_ai.output.type": "video" } },
  ]);
});

test("a chat has the spans that it has steps, and none of what was said", async () => {
  const account = await newAccount(1, 1);
  const spans = recordSpans();
  const { body } = await call("/v1/chat/completions", {
    key: account.key,
    body: { model: "textA-1", messages: [{ role: "user", content: "a private question" }] },
  });
  expect(spans.map(({ name }) => name)).toEqual(["validate", "reserve", "chat textA-1", "settle"]);
  expect(spans[2]?.attributes).toMatchObject({ "gen_ai.operation.name": "chat", "gen_ai.output.type": "text", "gateway.task.id": body.id });
  expect(JSON.stringify(spans)).not.toContain("private");
});
