/** What the makers bill for a chat: for each route that was asked, without its body, which would stay in memory while the answer is streamed. */

import { attemptCost } from "../../catalog/costs.ts";
import type { Route } from "../../catalog/models.ts";
import { attemptName, type BookedAttempt } from "../../db/settled-sums.ts";
import { ProviderError } from "../../providers/provider-error.ts";
import type { Usage } from "./answer.ts";

/** A route as far as its cost goes. */
type Billing = Pick<Route, "provider" | "model" | "settings" | "cost" | "bills_failures">;

const toCost = ({ cost }: Billing, { promptTokens, completionTokens, cachedTokens, usd }: Usage) =>
  attemptCost({ cost }, "chat", {}, { usage: { inputTokens: promptTokens, outputTokens: completionTokens, cachedTokens, usd } });

export class ChatCosts {
  readonly #attempts: BookedAttempt[] = [];
  readonly #promptTokens: number;
  #answering: Billing | undefined;
  /** True once a route may have accepted the chat without answering it. */
  isUnknown = false;

  /** `promptTokens`: an upper bound, which counts for a failure that is billed. */
  constructor(promptTokens: number) {
    this.#promptTokens = promptTokens;
  }

  #name = (route: Billing) => attemptName(this.#attempts.length, route);
  #failed = (route: Billing) => (route.bills_failures ? toCost(route, { promptTokens: this.#promptTokens, completionTokens: 0 }) : 0);

  /** The route has failed or refused the chat before an answer. */
  failed(route: Billing, fault: unknown): void {
    if (fault instanceof ProviderError && !fault.nothingAccepted) this.isUnknown = true;
    this.#attempts.push({ route: this.#name(route), cost: this.#failed(route) });
  }

  answering({ provider, model, settings, cost, bills_failures }: Billing): void {
    this.#answering = { provider, model, settings, cost, bills_failures };
  }

  /** All attempts, with the usage of the answer; undefined for an answer that failed before any output. */
  attempts(usage: Usage | undefined): BookedAttempt[] {
    const route = this.#answering;
    if (!route) return this.#attempts;
    return [...this.#attempts, { route: this.#name(route), cost: usage ? toCost(route, usage) : this.#failed(route) }];
  }
}
