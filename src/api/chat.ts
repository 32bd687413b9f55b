/** `/v1/chat/completions`: money held, the upstream's answer passed on whole or streamed, the tokens it reports settled. */

import { Hono } from "hono";
import { type ChatBody, estimatePromptTokens, maxTokens } from "../catalog/chat-schema.ts";
import { parseBody } from "../catalog/parse.ts";
import type { Model } from "../catalog/models.ts";
import { chatPrice, effectivePrice } from "../catalog/prices.ts";
import { type Route, routesFor } from "../catalog/routes.ts";
import { pricesAndRoutes } from "../config.ts";
import { ApiError } from "../errors.ts";
import { newId } from "../ids.ts";
import { alert, log } from "../log.ts";
import { isUnhealthy, isOn, providerNamed, markUnhealthy } from "../providers/index.ts";
import { ProviderError } from "../providers/provider.ts";
import { chatDeadlineMs, holdForChat } from "./chat-hold.ts";
import { admitted } from "./auth.ts";
import { largeBody, readJson } from "./body.ts";
import { type Chat, readWhole, relayStream } from "./chat-relay.ts";
import { notAllowed } from "./errors.ts";
import { type AppContext, type AppEnv, answer } from "./frame.ts";

export const chat = new Hono<AppEnv>().post("/completions", admitted("submission"), complete).all("/completions", notAllowed("POST"));

async function complete(c: AppContext): Promise<Response> {
  const { env } = c;
  const { accountId, keyId } = c.get("caller");
  const parsed = parseBody(await readJson(c, largeBody), "chat");
  if (parsed.violations.length > 0 || !parsed.model) throw new ApiError(parsed.code, { violations: parsed.violations });
  const { model } = parsed;
  c.set("model", model.id);
  const body = parsed.output as ChatBody;
  const routes = chatRoutes(env, model);
  const prices = effectivePrice(model, pricesAndRoutes(env).prices);
  const promptTokens = estimatePromptTokens(body);
  const price = (input: number, output: number) => chatPrice(prices, input, output);

  const id = `chatcmpl-${newId("")}`;
  const hold = await holdForChat(
    env,
    { taskId: id, accountId, keyId, kind: "chat", model: model.id },
    price(promptTokens, maxTokens(body)),
  );

  const started = Date.now();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), chatDeadlineMs);
  const isStream = body.stream === true;
  const one: Chat = {
    id,
    model: model.id,
    promptTokens,
    wantsUsage: body.stream_options?.include_usage === true,
    stop: () => stop.abort(),
    // The only place where a chat's hold ends, whichever way it went; the hold's own alarm stands behind it.
    async settle(usage) {
      clearTimeout(timer);
      const charged = usage && price(usage.promptTokens, usage.completionTokens);
      await hold.settle(charged);
      log("settle", {
        request: c.get("requestId"),
        task: id,
        account: accountId,
        model: model.id,
        outcome: usage ? "completed" : "failed",
        ms: Date.now() - started,
      });
    },
  };
  const run = async (): Promise<{ body: object | ReadableStream<Uint8Array>; done: Promise<void> }> => {
    try {
      const upstream = await ask(c, id, routes, { ...body, ...(isStream && { stream_options: { include_usage: true } }) }, stop.signal);
      return isStream ? relayStream(upstream, one) : { body: await readWhole(upstream, one), done: Promise.resolve() };
    } catch (error) {
      await one.settle(undefined);
      throw error;
    }
  };
  const work = run();
  // A caller who hangs up ends the answer, not the work: what is generated is settled.
  c.executionCtx.waitUntil(work.then(({ done }) => done).catch(() => undefined)); // its fault is told below
  const { body: made } = await work.catch((error: unknown) => {
    throw toApiError(error, c);
  });
  if (!(made instanceof ReadableStream)) return answer(c, made);
  c.header("content-type", "text/event-stream; charset=utf-8");
  c.header("cache-control", "no-cache");
  return c.body(made);
}

/** The routes whose provider can chat, those that are put aside last. */
function chatRoutes(env: Env, model: Model): Route[] {
  const routes = routesFor(model.id, pricesAndRoutes(env).routes, (name) => isOn(env, name) && providerNamed(env, name).chat !== undefined);
  if (routes.length === 0) throw new ApiError("model_not_available", { violations: [{ param: "model", rule: "model_not_available" }] });
  return [...routes.filter(({ provider }) => !isUnhealthy(provider)), ...routes.filter(({ provider }) => isUnhealthy(provider))];
}

/** The first route that answers. A verdict on the content is final; a fault before any answer gives way to the next route. */
async function ask(c: AppContext, task: string, routes: Route[], body: ChatBody, signal: AbortSignal): Promise<Response> {
  let fault: unknown;
  for (const [attempt, { provider, model }] of routes.entries()) {
    const started = Date.now();
    const line = (outcome: string) => ({
      request: c.get("requestId"),
      task,
      account: c.get("caller").accountId,
      model,
      provider,
      attempt: attempt + 1,
      outcome,
      ms: Date.now() - started,
    });
    try {
      const response = await providerNamed(c.env, provider).chat!({ body: { ...body, model }, stream: body.stream === true, signal });
      log("dispatch", line("answered"));
      return response;
    } catch (error) {
      fault = error;
      alert("dispatch", line("fault"), error);
      if (error instanceof ProviderError && error.contentPolicy) throw error;
      if (error instanceof ProviderError && error.account) markUnhealthy(provider);
    }
  }
  throw fault;
}

function toApiError(error: unknown, c: AppContext): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ProviderError && error.contentPolicy) return new ApiError("content_policy_violation", { cause: error });
  if (error instanceof ProviderError && error.retryAfterMs !== undefined)
    return new ApiError("unavailable", { retryAfter: Math.ceil(error.retryAfterMs / 1000), cause: error });
  alert("request", { request: c.get("requestId"), outcome: "internal_error" }, error);
  return new ApiError("internal_error", { cause: error });
}
