/** `/v1/chat/completions`, from the body to the settlement: holds the price, asks the first usable route, returns its answer whole or streamed. */

import { answer, respond } from "../request/answer.ts";
import { type AppContext, hasQuery } from "../request/context.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { toUnits, type Charge } from "../../db/ledger.ts";
import { ApiError } from "../../base/errors.ts";
import { newChatId } from "../../base/ids.ts";
import { log } from "../../base/log.ts";
import { ChatCaller } from "./caller.ts";
import { ChatCosts } from "./costs.ts";
import { type ChatFiles, findChatFiles, withFilesInMemory } from "./files.ts";
import { holdForChat } from "./hold.ts";
import { settleChat } from "../../wallet/settlements.ts";
import { admitToSubmit } from "../request/auth.ts";
import { type Chat, readWhole, relayStream } from "./relay.ts";
import { type ChatOrder, checkChat, toCharged } from "./order.ts";
import { askRoutes, toChatError } from "./routes.ts";
import { toErrorObject } from "../request/errors.ts";
import { announceEnd } from "../request/model-end.ts";
import { withChat } from "../request/large-body.ts";
import { answerDryRun, isDryRun } from "../request/options.ts";
import { readQuery } from "../request/query.ts";
import { chatQuery } from "../schema/queries.ts";
import { withSpan } from "../../tracing.ts";
import { chargeVersion } from "../../base/versions.ts";
import { requireVariables } from "../request/variable-checks.ts";

export async function completeChat(c: AppContext): Promise<Response> {
  await admitToSubmit(c);
  requireVariables(c.env, "chat");
  if (hasQuery(c)) readQuery(c, chatQuery);
  const catalog = await liveCatalog(c.env.DB);
  return withChat(c, async (body, memory) => {
    const order = check(c, body, catalog);
    const files = await findChatFiles(c.env, c.get("caller"), body, memory.left);
    if (isDryRun(c)) return dryRun(c, order);
    const answered = withFilesInMemory(memory, files, () => answerChat(c, openChat(c, order), order, files));
    // A caller that disconnects ends the answer but not the accounting: everything generated is settled. Nor does it end a call of the
    // wallet that this request makes for others too.
    c.executionCtx.waitUntil(answered.catch(() => undefined)); // its fault is answered
    return answered;
  });
}

/** Answers what the chat with this body would answer with `?dry_run=true`. */
export async function previewChat(c: AppContext, body: Record<string, unknown>, catalog: Catalog): Promise<Response> {
  const order = check(c, body, catalog);
  await findChatFiles(c.env, c.get("caller"), body);
  return dryRun(c, order);
}

/** Checks a body for a request, which gets the model's name and end. Throws an `ApiError`. */
const check = (c: AppContext, raw: Record<string, unknown>, catalog: Catalog): ChatOrder =>
  checkChat(c.env, c.get("caller"), raw, catalog, (model) => {
    c.set("model", model.id);
    announceEnd(c, model);
  });

function dryRun(c: AppContext, { model, held, typicalSeconds, promptTokens, maxTokens }: ChatOrder): Promise<Response> {
  const metadata = { kind: "chat", prompt_tokens: promptTokens, max_completion_tokens: maxTokens, reserved: toUnits(held) };
  return answerDryRun(c, { kind: "chat", model, price: held, typicalSeconds, metadata });
}

/** A chat that is held, asked, answered and settled. Its closures do not refer to the body, which would otherwise stay in memory while the answer is streamed. */
function openChat(c: AppContext, { model, isStream, wantsUsage, price, promptTokens, held, given, trace }: ChatOrder): HeldChat {
  const { env } = c;
  const { accountId, keyId } = c.get("caller");
  const id = newChatId();
  c.set("task", id);
  const charge: Charge = { v: chargeVersion, taskId: id, accountId, keyId, kind: "chat", model };
  const spans = { kind: "chat", model, task: id, trace } as const;
  const caller = new ChatCaller(c.req.raw.signal);
  const started = Date.now();
  const costs = new ChatCosts(promptTokens);
  return {
    id,
    accountId,
    model,
    costs,
    promptTokens,
    wantsUsage,
    caller,
    trace,
    toError: (fault) => toChatError(fault, c.get("requestId"), given),
    describe: (fault) => toErrorObject(toChatError(fault, c.get("requestId"), given), c),
    hold: () => withSpan("reserve", spans, () => holdForChat(env, c.executionCtx, charge, held)),
    settle(usage) {
      caller.endWatch();
      const charged = toCharged({ price, held }, usage);
      const attempts = costs.attempts(usage);
      const settlement = {
        charge,
        held,
        charged,
        outcome: usage ? "completed" : "provider_error",
        ...(attempts.length > 0 && { attempts }),
      };
      const settled = withSpan("settle", spans, () => settleChat(env, settlement));
      if (settled) c.executionCtx.waitUntil(settled);
      // The line of a whole answer follows, and says it too.
      if (!isStream && !caller.isGone()) return c.set("settled", { task: id, charged });
      const outcome = usage ? "completed" : "failed";
      log("settle", { request: c.get("requestId"), task: id, charged, account: accountId, model, outcome, ms: Date.now() - started });
    },
  };
}

interface HeldChat extends Chat {
  caller: ChatCaller;
  /** Holds the price. Throws an `ApiError`; then nothing is held. */
  hold(): Promise<void>;
  /** The caller's error for a fault. */
  toError(fault: unknown): ApiError;
}

/** Holds the price, asks the routes and answers. Each way out after the hold settles it, once. */
async function answerChat(c: AppContext, chat: HeldChat, { routes, isStream, ignored }: ChatOrder, files: ChatFiles): Promise<Response> {
  try {
    await chat.hold();
    chat.caller.watch();
    if (chat.caller.isGone()) {
      // Nothing is generated for a caller who has gone before an upstream was asked.
      chat.settle(undefined);
      throw new ApiError("unavailable");
    }
    const asker = { env: c.env, background: c.executionCtx, requestId: c.get("requestId"), accountId: c.get("caller").accountId, files };
    const { response, dropped } = await askRoutes(asker, chat, routes, isStream).catch((error: unknown) => {
      // If the upstream had no time to answer before the caller left, at least the prompt is charged.
      const isLeft = chat.caller.isGone() && chat.caller.signal.aborted;
      chat.settle(isLeft ? { promptTokens: chat.promptTokens, completionTokens: 0 } : undefined);
      throw error;
    });
    c.set("dropped", [...ignored, ...dropped].join(", "));
    if (!isStream) return answer(c, await readWhole(response, chat));
    const { body, done } = relayStream(response, chat);
    c.executionCtx.waitUntil(done);
    return respond(c, body, 200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  } catch (error) {
    throw chat.toError(error);
  }
}
