/** `/v1/chat/completions`: reserves, calls the first usable route, returns its answer whole or streamed, and settles its tokens. */

import { type ChatBody, droppedFields, toForwarded } from "../catalog/chat-schema.ts";
import { chatReservation } from "../catalog/chat-tokens.ts";
import { parseBody } from "../catalog/parse.ts";
import { chatPrice, effectivePrice } from "../catalog/prices.ts";
import { pricesAndRoutes } from "../config.ts";
import { toUnits } from "../db/ledger.ts";
import type { Charge } from "../db/ledger.ts";
import { ApiError } from "../errors.ts";
import { newId } from "../ids.ts";
import { log } from "../log.ts";
import { chatDeadlineMs, type ChatHold, holdForChat } from "./chat-hold.ts";
import { admitToSubmit } from "./auth.ts";
import { readWhole, relayStream } from "./chat-relay.ts";
import { askRoutes, chatRoutes, type FittedRoute, toChatError, type TracedChat } from "./chat-routes.ts";
import { onError, toErrorObject } from "./errors.ts";
import { type AppContext, withMiddleware } from "./frame.ts";
import { answerDryRun } from "./dry-run.ts";
import { requireScope } from "./key-scope.ts";
import { withChat } from "./large-body.ts";
import { isDryRun, optionViolations, requireMaxCost } from "./options.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { submissionQuery } from "./schema/queries.ts";
import { commonHeaders } from "../tasks/view-headers.ts";
import { withSpan } from "../tracing.ts";
import { Watch } from "./watch.ts";
import { chargeVersion } from "../versions.ts";

/** One handler, as status queries have. */
export const chats = routing().post(
  "/v1/chat/completions",
  withMiddleware(async (c) => {
    await admitToSubmit(c);
    if (c.get("url").includes("?")) await readQuery(c, submissionQuery);
    const watch = new Watch();
    c.set("watch", watch);
    return withChat(c, (body) => complete(c, body, watch));
  }, onError),
);

/** After the caller disconnects the platform allows thirty more seconds; the time left after this delay is for settling. */
const drainMs = 20_000;
/** A chat that is answered sooner never listens for its caller's disconnection: a listener keeps the request in memory until the next full garbage collection. */
const calmMs = 2_000;

async function complete(c: AppContext, raw: Record<string, unknown>, watch: Watch): Promise<Response> {
  const { env } = c;
  const trace = {};
  const parsed = withSpan("validate", { kind: "chat", trace }, () => parseBody(raw, "chat"));
  const violations = raw["max_cost"] === undefined ? parsed.violations : [...parsed.violations, ...optionViolations(raw, "chat")];
  if (violations.length > 0 || !parsed.model) throw new ApiError(parsed.code, { violations });
  const { model } = parsed;
  c.set("model", model.id);
  requireScope(c.get("caller"), "chat", model.id);
  const body = parsed.output as ChatBody;
  const prices = effectivePrice(model, pricesAndRoutes(env).prices);
  const { promptTokens, maxTokens, amount } = chatReservation(prices, body);
  const routes = chatRoutes(env, model, toUpstreamBody(body), maxTokens);

  requireMaxCost(raw, amount);
  if (isDryRun(c)) {
    const metadata = { kind: "chat", prompt_tokens: promptTokens, max_completion_tokens: maxTokens, reserved: toUnits(amount) };
    return answerDryRun(c, { kind: "chat", model: model.id, price: amount, typicalSeconds: model.typicalSeconds, metadata });
  }

  // No closure refers to the body, which would otherwise stay in memory while the answer is streamed.
  const given = Object.keys(raw);
  const id = `chatcmpl-${newId("")}`;
  const { accountId, keyId } = c.get("caller");
  const charge: Charge = { v: chargeVersion, taskId: id, accountId, keyId, kind: "chat", model: model.id };
  const spans = { kind: "chat", model: model.id, task: id, trace } as const;
  const started = Date.now();
  let hold: ChatHold;
  const isStream = body.stream === true;
  const stop = new AbortController();
  const { signal } = c.req.raw;
  let drain: ReturnType<typeof setTimeout> | undefined;
  let isGone = false;
  let isSettled = false;
  const leave = (ms: number) => {
    if (!isGone && !isSettled) drain = setTimeout(() => stop.abort(), ms);
    isGone = true;
  };
  const one: TracedChat = {
    trace,
    id,
    model: model.id,
    promptTokens,
    wantsUsage: body.stream_options?.include_usage === true,
    signal: stop.signal,
    isGone: () => isGone || signal.aborted,
    hangUp: () => leave(drainMs),
    describe: (fault) => toErrorObject(toChatError(fault, c, given), c),
    // The only place where a chat's hold ends, in every case; the hold's own alarm is the backstop.
    async settle(usage) {
      isSettled = true;
      if (drain !== undefined) clearTimeout(drain);
      const charged = usage && chatPrice(prices, usage.promptTokens, usage.completionTokens);
      await withSpan("settle", spans, () => hold.settle(charged));
      watch.stop();
      const settled = { task: id, charged: charged ?? 0 };
      // The line of a whole answer follows, and says it too.
      if (!isStream && !one.isGone()) return c.set("settled", settled);
      log("settle", {
        request: c.get("requestId"),
        ...settled,
        account: c.get("caller").accountId,
        model: model.id,
        outcome: usage ? "completed" : "failed",
        ms: Date.now() - started,
      });
    },
  };
  const run = async () => {
    hold = await withSpan("reserve", spans, () => holdForChat(env, charge, amount, watch));
    watch.limit(calmMs, () => {
      watch.limit(chatDeadlineMs - calmMs, () => stop.abort());
      // It may have disconnected right after the reservation.
      if (signal.aborted) leave(drainMs - calmMs);
      else signal.addEventListener("abort", () => one.hangUp());
    });
    if (signal.aborted) {
      // Nothing is generated for a caller who has gone before an upstream was asked.
      await one.settle(undefined);
      throw new ApiError("unavailable");
    }
    return start(c, one, routes, isStream);
  };
  // A caller that disconnects ends the answer but not the accounting: everything generated is settled. Nor does it end a call of the
  // wallet that this request makes for others too.
  const work = run();
  c.executionCtx.waitUntil(work.then(({ done }) => done).catch(() => undefined)); // its fault is described below
  const made = await work.catch((error: unknown) => {
    throw toChatError(error, c, given);
  });
  const dropped = [...droppedFields(raw), ...made.dropped];
  if (!(made.body instanceof ReadableStream)) return answerWhole(c, made.body, dropped);
  if (dropped.length > 0) c.header("x-dropped-params", dropped.join(", "));
  c.header("content-type", "text/event-stream; charset=utf-8");
  c.header("cache-control", "no-cache");
  return c.body(made.body);
}

/** The answer with all its headers at once: setting them one by one is slower. */
function answerWhole(c: AppContext, body: object, dropped: string[]): Response {
  c.set("hasCommonHeaders", true);
  const headers = {
    "content-type": "application/json",
    "content-language": c.get("language"),
    vary: "Accept-Language",
    ...commonHeaders(c.get("requestId"), c.get("limit")),
    ...(dropped.length > 0 && { "x-dropped-params": dropped.join(", ") }),
  };
  return new Response(JSON.stringify(body), { headers });
}

/** The body for the upstreams, before it is adapted to each model family. Usage is always requested. */
const toUpstreamBody = (body: ChatBody) => ({
  ...toForwarded(body),
  ...(body.stream === true && { stream: true, stream_options: { include_usage: true } }),
});

/** Calls the upstream. `done` resolves when the hold is settled. */
async function start(
  c: AppContext,
  chat: TracedChat,
  routes: FittedRoute[],
  isStream: boolean,
): Promise<{ body: object | ReadableStream<Uint8Array>; dropped: string[]; done: Promise<void> }> {
  const { response, dropped } = await askRoutes(c, chat, routes, isStream).catch(async (error: unknown) => {
    // If the upstream had no time to answer before the caller left, at least the prompt is charged.
    const isLeft = chat.isGone() && chat.signal.aborted;
    await chat.settle(isLeft ? { promptTokens: chat.promptTokens, completionTokens: 0 } : undefined);
    throw error;
  });
  if (isStream) return { ...relayStream(response, chat), dropped };
  return { body: await readWhole(response, chat), dropped, done: Promise.resolve() };
}
