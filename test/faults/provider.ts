/** The provider with injected faults: it refuses, rate-limits, breaks off after accepting, hangs, declares wrong lengths, expires its results. */

import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { FaultInjector } from "./fault-injector.ts";

type Fetch = (this: unknown, input: string, init?: RequestInit) => Promise<Response>;

const base = "http://sandbox/v1";
const json = (body: unknown, status = 200, headers = {}) => Response.json(body, { status, headers });

/** The scripted upstream behind it has no faults and finishes at once. */
export function watchProvider(faultInjector: FaultInjector): void {
  const prototype = Object.getPrototypeOf(env.SANDBOX) as { fetch: Fetch };
  const original = prototype.fetch;
  const rate = faultInjector.random.pick([0, 0.1, 0.3]);
  vi.spyOn(prototype, "fetch").mockImplementation(async function (this: unknown, input, init) {
    const effect = () => original.call(this, input, init);
    if (!faultInjector.isOn || typeof input !== "string" || !input.startsWith(base)) return effect();
    const step = readStep(input.slice(base.length), init?.method);
    return faultInjector.through({ name: step, failure: "connection lost", effect: () => misbehave(faultInjector, rate, step, effect) });
  });
}

type StepName = "start" | "poll" | "cancel" | "download" | "chat";

function readStep(path: string, method = "GET"): StepName {
  if (path === "/chat/completions") return "chat";
  if (method === "POST") return "start";
  if (path.includes("/outputs/")) return "download";
  return method === "DELETE" ? "cancel" : "poll";
}

type Effect = () => Promise<Response>;

/** The possible faults of each step. */
const misdeeds: Record<StepName, Record<string, (faultInjector: FaultInjector, effect: Effect) => Promise<Response>>> = {
  start: {
    "is busy": async () => json({}, 503, { "retry-after": "7" }),
    limits: async () => json({}, 429),
    refuses: async () => json({}, 422),
    "does not understand": async () => json({}, 400),
    "fails after accepting": async (_, effect) => (await effect(), json({}, 500)),
    hangs: async () => hang(60),
  },
  poll: {
    "is busy": async () => json({}, 503),
    "has forgotten it": async () => json({}, 404),
    "gives up": async (faultInjector) =>
      json({ id: "x", status: "failed", error: { code: faultInjector.random.pick(["invalid_input", "other"]) } }),
    hangs: async () => hang(10),
  },
  download: {
    fails: async () => json({}, 500),
    "answers 410": async () => json({}, 410),
    "sends a length that is too large": async (_, effect) => lie(await effect(), 1000),
    "sends a length that is too small": async (_, effect) => lie(await effect(), -50),
    "sends no length": async (_, effect) => new Response((await effect()).body),
    "breaks off": async (_, effect) => new Response(half(await (await effect()).arrayBuffer())),
    "sends rubbish": async () => new Response("this is neither an image nor a video"),
  },
  cancel: { fails: async () => json({}, 500), "has forgotten it": async () => json({}, 404) },
  chat: {
    "is busy": async () => json({}, 503, { "retry-after": "3" }),
    refuses: async () => json({}, 422),
    fails: async () => json({}, 500),
    "sends rubbish": async () => new Response("<html>"),
    "breaks off": async (_, effect) => new Response(half(await (await effect()).arrayBuffer())),
  },
};

async function misbehave(faultInjector: FaultInjector, rate: number, step: StepName, effect: Effect): Promise<Response> {
  // Most work takes more than one poll.
  if (step === "poll" && faultInjector.chance(0.4)) return json({ id: "x", status: "running", progress: faultInjector.random.int(0, 100) });
  if (!faultInjector.chance(rate)) return effect();
  const misdeed = faultInjector.random.pick(Object.keys(misdeeds[step]));
  faultInjector.note(`provider ${misdeed}: ${step}`);
  return misdeeds[step][misdeed]!(faultInjector, effect);
}

/** Nothing arrives for this many seconds; then the gateway's own timeout ends the wait. */
function hang(seconds: number): never {
  vi.setSystemTime(Date.now() + seconds * 1000);
  throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
}

function lie(response: Response, by: number): Response {
  const length = Number(response.headers.get("content-length")) + by;
  return new Response(response.body, { headers: { "content-length": String(length) } });
}

function half(bytes: ArrayBuffer): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(bytes, 0, bytes.byteLength >> 1));
      controller.error(new Error("scripted: broken off"));
    },
  });
}
