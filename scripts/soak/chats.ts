/** Chats, whole and streamed, some interrupted by the client, and the expected cost of each. */

import { chatAnswer, chatChunk, type PriceList, type Usage } from "../support/api-answers.ts";
import { chatCost, micro } from "../support/bill.ts";
import type { Random } from "../support/random.ts";
import type { Account, History } from "../engine/history.ts";
import { read, type HttpClient } from "../engine/http-client.ts";

const model = "textA-1";
const path = "/v1/chat/completions";
// All chats have the same size, so that all reserve and cost the same. With this token limit the reservation is no
// multiple of a task's price, so that reserved chats can be distinguished.
const maxTokens = 211;
const promptLength = 64;
const directives = [
  [88, ""],
  [6, "sandbox:fail"],
  [6, "sandbox:flaky"],
] as const;

/** An interrupted stream is settled in this time at the latest, and an answered chat in that. */
const hungUpSettleMs = 25_000;
const answeredSettleMs = 1_000;

/** The clients' record of an account's chats. */
export interface ChatAccount {
  /** Millionths that are or will be charged with certainty. */
  charged: number;
  /** Chats whose end no client saw: charged, reserved or never started. */
  uncertain: number;
}

/** All chats of a run. */
export class Chats {
  /** Millionths for one chat, known after the first answer. */
  cost: number | undefined;
  /** The ids of the chats that are certainly charged. */
  readonly chargedIds = new Set<string>();
  /** Chats that are charged unless the gateway crashed between these times. */
  readonly #ended: { account: Account; id: string; cost?: number; from: number; to: number }[] = [];
  readonly #accounts = new Map<Account, ChatAccount>();
  readonly #prices: PriceList;
  readonly #history: History;
  readonly #http: HttpClient;
  #number = 0;

  constructor(prices: PriceList, history: History, http: HttpClient) {
    this.#prices = prices;
    this.#history = history;
    this.#http = http;
  }

  /** The record of the account's chats. */
  of(account: Account): ChatAccount {
    let known = this.#accounts.get(account);
    if (!known) this.#accounts.set(account, (known = { charged: 0, uncertain: 0 }));
    return known;
  }

  /** One chat with a whole answer. */
  async whole(account: Account, random: Random): Promise<void> {
    const content = this.#content(random);
    const answer = await this.#http.ask("POST", path, account.apiKey, { body: buildBody(content, false) });
    if (!answer) return this.#lost(account);
    if (answer.status !== 200) return this.#refused(account, content, answer);
    this.#charge(account, idIn(answer.text), read(chatAnswer, answer).usage);
    this.#history.count("chats answered whole");
  }

  /** One streamed chat; its client may disconnect after the first event. A started chat is charged in any case. */
  async streamed(account: Account, random: Random, hangsUp: boolean): Promise<void> {
    const hangUp = new AbortController();
    const content = this.#content(random);
    const begun = Date.now();
    const end = await this.#http.attempt(`POST ${path} streamed`, async (signal) => {
      const response = await this.#http.open(path, account.apiKey, buildBody(content, true), AbortSignal.any([signal, hangUp.signal]));
      if (!response.headers.has("x-request-id")) throw new Error(`answered ${response.status} by another server`);
      if (response.status !== 200 || !response.body) return { status: response.status, text: await response.text() };
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += next.value;
        if (hangsUp && text.includes("\n\n")) return { status: 0, text };
      }
      // A stream that ends without [DONE] is broken, even if the connection was closed properly.
      if (!text.includes("data: [DONE]")) throw new Error("the stream ended before [DONE]");
      return { status: 200, text };
    });
    if (end?.status === 0) {
      hangUp.abort();
      this.#ended.push({ account, id: idIn(end.text), from: begun, to: Date.now() + hungUpSettleMs });
      this.#history.count("chats hung up");
      return;
    }
    if (!end) return this.#lost(account);
    if (end.status !== 200) return this.#refused(account, content, end);
    this.#charge(account, idIn(end.text), usageIn(end.text));
    this.#history.count("chats streamed");
  }

  /** At the end of a run: chats that ended while the gateway kept running are charged in full, those of a crash are uncertain. */
  judgeEnded(crashes: readonly { at: number }[]): void {
    for (const { account, id, cost = this.cost ?? 0, from, to } of this.#ended.splice(0)) {
      const crashed = crashes.some(({ at }) => at >= from && at <= to);
      if (crashed) {
        this.of(account).uncertain++;
        continue;
      }
      this.of(account).charged += cost;
      this.chargedIds.add(id);
    }
  }

  #content(random: Random): string {
    return `chat-${++this.#number} ${random.weighted(directives)} `.padEnd(promptLength, ".");
  }

  #charge(account: Account, id: string, usage: Usage | undefined): void {
    if (!usage) return this.#history.fault("a chat reported no usage");
    const cost = micro(chatCost(this.#prices, model, usage));
    this.cost ??= cost;
    if (cost !== this.cost) this.#history.fault(`a chat cost ${cost} millionths, others of its size ${this.cost}`);
    const now = Date.now();
    this.#ended.push({ account, id, cost, from: now - answeredSettleMs, to: now + answeredSettleMs });
  }

  #lost(account: Account): void {
    this.of(account).uncertain++;
    this.#history.count("chats lost");
  }

  #refused(account: Account, content: string, { status, text }: { status: number; text: string }): void {
    this.#history.count(`chats refused ${status}`);
    const isRight =
      (status === 503 && content.includes("sandbox:flaky")) ||
      (status === 402 && account.isTight) ||
      (status === 500 && content.includes("sandbox:fail"));
    if (!isRight) this.#history.fault(`a chat was answered ${status}: ${text.slice(0, 300)}`);
  }
}

const buildBody = (content: string, stream: boolean): object => ({
  model,
  max_tokens: maxTokens,
  messages: [{ role: "user", content }],
  ...(stream && { stream, stream_options: { include_usage: true } }),
});

const idIn = (text: string): string => /"id":"(chatcmpl-[\w-]+)"/.exec(text)?.[1] ?? "";

function usageIn(events: string): Usage | undefined {
  const data = events.split("\n").flatMap((line) => (line.startsWith("data: {") ? [line.slice("data: ".length)] : []));
  return data.map((text) => chatChunk.parse(JSON.parse(text)).usage).findLast((usage) => usage) ?? undefined;
}
