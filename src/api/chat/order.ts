/** A chat that may be held: its checked body with the routes that support it, and what it may cost. */

import { type ChatBody, droppedFields, toForwarded } from "../../catalog/chat-schema.ts";
import { chatReservation } from "../../catalog/chat-tokens.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import type { Model } from "../../catalog/models.ts";
import { parseBody } from "../../catalog/parse.ts";
import { chatPrice } from "../../catalog/prices.ts";
import type { Caller } from "../../db/callers.ts";
import { ApiError } from "../../base/errors.ts";
import { requireScope } from "../request/key-scope.ts";
import { optionViolations, requireMaxCost } from "../request/options.ts";
import { withSpan } from "../../tracing.ts";
import { chatRoutes } from "./routes.ts";
import type { Usage } from "./answer.ts";
import type { Chat } from "./relay.ts";

export type ChatOrder = ReturnType<typeof checkChat>;

/** What a chat is charged in millionths: no more than was held, whatever its upstream reports; nothing without usage. */
export const toCharged = ({ price, held }: Pick<ChatOrder, "price" | "held">, usage: Usage | undefined): number =>
  usage ? Math.min(held, chatPrice(price, usage.promptTokens, usage.completionTokens, usage.cachedTokens)) : 0;

/** Checks a body. Throws an `ApiError`. `onModel` gets the model before the caller's right to it is checked. */
export function checkChat(
  env: Env,
  caller: Caller,
  raw: Record<string, unknown>,
  catalog: Catalog,
  onModel: (model: Model) => void = () => undefined,
) {
  const trace: Chat["trace"] = {};
  const parsed = withSpan("validate", { kind: "chat", trace }, () => parseBody(raw, "chat", { catalog }));
  const violations = raw["max_cost"] === undefined ? parsed.violations : [...parsed.violations, ...optionViolations(raw, "chat")];
  if (violations.length > 0 || !parsed.model) throw new ApiError(parsed.code, { violations });
  const { model } = parsed;
  onModel(model);
  requireScope(caller, "chat", model.id);
  const body = parsed.output as ChatBody;
  const { price } = model;
  const fields = toForwarded(body);
  const { promptTokens, maxTokens, amount } = chatReservation(price, body, fields);
  const isStream = body.stream === true;
  // Usage is always requested.
  const forwarded = { ...fields, ...(isStream && { stream: true, stream_options: { include_usage: true } }) };
  const routes = chatRoutes(env, model, forwarded, maxTokens);
  requireMaxCost(raw, amount);
  return {
    model: model.id,
    price,
    routes,
    isStream,
    wantsUsage: body.stream_options?.include_usage === true,
    promptTokens,
    maxTokens,
    /** Millionths. */
    held: amount,
    typicalSeconds: model.typicalSeconds,
    /** Names of the caller's fields, and of those that no route gets. */
    given: Object.keys(raw),
    ignored: droppedFields(raw),
    /** Shared by the chat's spans. */
    trace,
  };
}
