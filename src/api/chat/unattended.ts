/** A chat for which no connection waits, such as a line of a batch: asks the routes, and returns the whole answer with what it costs. */

import { chatDeadlineMs } from "../../catalog/chat-tokens.ts";
import type { ApiError } from "../../base/errors.ts";
import { ProviderError } from "../../providers/provider-error.ts";
import type { BookedAttempt } from "../../db/settled-sums.ts";
import type { Usage } from "./answer.ts";
import { chatMemory } from "../request/large-body.ts";
import { ChatCosts } from "./costs.ts";
import { withFilesInMemory } from "./files.ts";
import { type ChatOrder, toCharged } from "./order.ts";
import { type Chat, readWhole } from "./relay.ts";
import { type Asker, askRoutes, toChatError } from "./routes.ts";

interface EndedChat {
  /** The completion, or the caller's error. `isUnknown`: a maker may have accepted the chat; `isRefused`: none has, and one may take it later. */
  result: { answer: object; error?: never } | { error: ApiError; isUnknown: boolean; isRefused: boolean; answer?: never };
  /** Millionths; with an error what was generated before it. */
  charged: number;
  outcome: "completed" | "provider_error";
  attempts: BookedAttempt[];
}

/** Asks for a chat whose price is held under `id`. Settles nothing and does not throw. */
export async function askUnattended(asker: Asker, id: string, order: ChatOrder): Promise<EndedChat> {
  const { model, routes, promptTokens, given, trace } = order;
  const costs = new ChatCosts(promptTokens);
  let usage: Usage | undefined;
  const chat: Chat = {
    id,
    accountId: asker.accountId,
    model,
    costs,
    promptTokens,
    wantsUsage: true,
    trace,
    caller: { signal: AbortSignal.timeout(chatDeadlineMs), isGone: () => false, hangUp: () => undefined },
    settle: (used) => (usage = used),
    describe: () => ({}),
  };
  const end = (result: EndedChat["result"]): EndedChat => ({
    result,
    charged: toCharged(order, usage),
    outcome: usage ? "completed" : "provider_error",
    attempts: costs.attempts(usage),
  });
  try {
    const ask = async () => {
      const { response } = await askRoutes(asker, chat, routes, false);
      return readWhole(response, chat);
    };
    return end({ answer: await withFilesInMemory(chatMemory(asker.accountId, chatDeadlineMs), asker.files, ask) });
  } catch (error) {
    const fault = error instanceof ProviderError ? error : undefined;
    const isUnknown = costs.isUnknown || fault?.nothingAccepted === false;
    const refusal = toChatError(error, asker.requestId, given);
    return end({
      error: refusal,
      isUnknown,
      isRefused: !isUnknown && (refusal.code === "unavailable" || fault?.waitsForOperator === true),
    });
  }
}
