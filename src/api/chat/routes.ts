/** The routes of a chat: selects those that support it, calls them in turn, and builds the caller's error if all fail. */

import { chatFamilies, type ChatFamily, findFamily, fitToFamily } from "../../catalog/chat-families.ts";
import type { Model, Route } from "../../catalog/models.ts";
import { routesFor } from "../../catalog/routes.ts";
import { countCall } from "../../db/recent-sums.ts";
import { countFault, toCallsName } from "../../tasks/provider-calls.ts";
import { ApiError, type Violation } from "../../base/errors.ts";
import { alert } from "../../base/log.ts";
import { isOn, providerNamed, unhealthyLast } from "../../providers/index.ts";
import { type Provider } from "../../providers/provider.ts";
import { type Malformed, ProviderError } from "../../providers/provider-error.ts";
import { refuseEmptyOrPage } from "../../providers/shared/chat-errors.ts";
import { type ChatFiles, fillFiles } from "./files.ts";
import type { Chat } from "./relay.ts";
import { logStep } from "../../step-log.ts";
import { withSpan } from "../../tracing.ts";

/** A route with the body for its model's family. */
interface FittedRoute extends Route {
  family: ChatFamily;
  body: Record<string, unknown>;
  /** Names of the fields that were dropped for this family. */
  dropped: string[];
}

const cannot = (param: string, rule: "model_not_available" | "unsupported_parameter") =>
  new ApiError(rule, { violations: [{ param, rule }] });

type AskChat = NonNullable<Provider["chat"]>;
const chatProviders = new WeakMap<Env, Record<string, AskChat | false>>();

/** Asks the provider for a chat; made once per isolate. False if the provider is off or has no chats. Throws `VariableError` like `isOn`. */
function openChat(env: Env, name: string): AskChat | false {
  let known = chatProviders.get(env);
  if (!known) chatProviders.set(env, (known = {}));
  if (known[name] === undefined) {
    const provider = isOn(env, name) ? providerNamed(env, name) : undefined;
    known[name] = provider?.chat ? (request) => provider.chat!(request) : false;
  }
  return known[name];
}

/** The routes that support the chat, those of unhealthy providers last. Throws 400 if no route does. */
export function chatRoutes(env: Env, model: Model, body: Record<string, unknown>, maxTokens: number): FittedRoute[] {
  const routes = routesFor(model, (name) => openChat(env, name) !== false);
  let unsupported: string | undefined;
  const able = routes.flatMap((route): FittedRoute[] => {
    const family = findFamily(route.model, chatFamilies(env));
    const fitted = fitToFamily(body, maxTokens, family);
    if ("body" in fitted) return [{ ...route, family, body: { ...fitted.body, model: route.model }, dropped: fitted.dropped }];
    unsupported ??= fitted.unsupported;
    return [];
  });
  if (able.length === 0)
    throw unsupported === undefined ? cannot("model", "model_not_available") : cannot(unsupported, "unsupported_parameter");
  return unhealthyLast(able);
}

/** True if another family may accept a request that this one refused as malformed. */
function mayHonour(malformed: Malformed, here: ChatFamily, next: ChatFamily): boolean {
  if (malformed.code === "context_length_exceeded")
    return here.context_tokens !== undefined && next.context_tokens !== undefined && next.context_tokens > here.context_tokens;
  return malformed.onlyHere && next !== here;
}

/** Who asks for a chat, and what outlives the answer. */
export interface Asker {
  env: Env;
  background: Pick<ExecutionContext, "waitUntil">;
  requestId: string;
  accountId: string;
  files: ChatFiles;
}

/**
 * Returns the answer of the first route that answers. If a route refuses the content or the format, this is final, unless another route
 * supports the format; after any other fault before the answer the next route is tried.
 */
export async function askRoutes(
  { env, background, requestId, accountId, files }: Asker,
  chat: Chat,
  routes: FittedRoute[],
  stream: boolean,
): Promise<{ response: Response; dropped: string[] }> {
  let fault: unknown;
  let refusal: { malformed: Malformed; family: ChatFamily } | undefined;
  const filled = await fillFiles(env, files, routes);
  for (const [attempt, route] of filled.entries()) {
    const { provider, model, family, body, dropped } = route;
    if (refusal && !mayHonour(refusal.malformed, refusal.family, family)) continue;
    const started = Date.now();
    const line = (outcome: string) => ({
      request: requestId,
      task: chat.id,
      account: accountId,
      model,
      provider,
      attempt: attempt + 1,
      outcome,
      ms: Date.now() - started,
    });
    try {
      const ask = openChat(env, provider);
      if (!ask) throw new ProviderError("refused", "the route's provider has no chats");
      const response = await withSpan("provider", { kind: "chat", model, provider, task: chat.id, trace: chat.trace }, () =>
        ask({ body, stream, settings: route.settings, signal: chat.caller.signal }),
      );
      await refuseEmptyOrPage(response);
      chat.costs.answering(route);
      logStep(env, "dispatch", line("answered"));
      // Most chats write nothing, and `waitUntil` costs more than the count.
      const counted = countCall(env.DB, toCallsName(route), true);
      if (counted) background.waitUntil(counted);
      return { response, dropped };
    } catch (error) {
      chat.costs.failed(route, error);
      const { malformed, contentPolicy = false } = error instanceof ProviderError ? error : {};
      if (malformed || contentPolicy) logStep(env, "dispatch", line("refused"));
      else {
        alert("dispatch", line("fault"), error);
        await countFault(env, route, error);
      }
      // Of two errors, the fault of a route is more specific than a field that a later route does not support.
      if (!malformed || fault === undefined) fault = error;
      if (malformed) refusal = { malformed, family };
      if (contentPolicy || chat.caller.isGone() || chat.caller.signal.aborted) break;
    }
  }
  throw fault;
}

/** The caller's error for a fault; `given` are the names of the caller's fields. Faults of the operator's account are logged. */
export function toChatError(error: unknown, requestId: string, given: string[]): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ProviderError) {
    const { malformed, contentPolicy, retryable, nothingAccepted, retryAfterMs } = error;
    if (contentPolicy) return new ApiError("content_policy_violation", { cause: error });
    if (malformed) return new ApiError(malformed.code, { violations: toViolations(malformed, given), cause: error });
    if (retryAfterMs !== undefined || (retryable && nothingAccepted))
      return new ApiError("unavailable", {
        ...(retryAfterMs !== undefined && { retryAfter: Math.ceil(retryAfterMs / 1000) }),
        cause: error,
      });
  }
  alert("request", { request: requestId, outcome: "internal_error" }, error);
  // The upstream may have made an answer, which is charged. OpenAI's clients would ask for another one.
  return new ApiError("internal_error", { headers: { "x-should-retry": "false" }, cause: error });
}

/** The field that the upstream names, if the caller's body has it, with the reason in our own words. */
function toViolations({ code, param, reason }: Malformed, given: string[]): Violation[] {
  if (code === "context_length_exceeded") return [{ param: "messages", rule: code }];
  const named = param === "max_completion_tokens" && !given.includes(param) ? "max_tokens" : param;
  return named !== undefined && given.includes(named.replace(/[.[].*/s, "")) ? [{ param: named, rule: reason ?? "wrong_form" }] : [];
}
