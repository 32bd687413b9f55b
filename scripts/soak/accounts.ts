/** The run's accounts, through the admin API: one with a large quota, one with a small account quota, one with a small key quota. */

import { account, apiKeyList, audit, newApiKey, type Audit, type Wallet } from "../support/api-answers.ts";
import type { Account } from "./history.ts";
import { read, type HttpClient } from "./http-client.ts";

/** The amount that a tight wallet gets at the start and with each addition, in balance units: some images, or one video. */
const tightQuota = 3;
const plans = [
  { name: "roomy", quota: 1_000_000, keyQuota: null },
  { name: "tight", quota: tightQuota, keyQuota: null },
  { name: "tight-key", quota: null, keyQuota: 4 * tightQuota },
];

/** The wallets of an account and its key. */
export interface Wallets {
  account: Wallet;
  key: Wallet;
}

/** The operator's requests. The gateway must be up. */
export class Operator {
  readonly #http: HttpClient;
  readonly #token: string;
  #additions = 0;

  constructor(http: HttpClient, token: string) {
    this.#http = http;
    this.#token = token;
  }

  /** The accounts of the run, each with one key. */
  async createAccounts(): Promise<Account[]> {
    const accounts: Account[] = [];
    for (const { name, quota, keyQuota } of plans) {
      const { id } = read(account, await this.#ask("POST", "/accounts", { email: `${name}@example.com`, name, quota }));
      const key = read(newApiKey, await this.#ask("POST", `/accounts/${id}/keys`, { name: "soak", quota: keyQuota }));
      accounts.push({ name, id, keyId: key.id, apiKey: key.key, isTight: name !== "roomy" });
    }
    return accounts;
  }

  /** Raises the tight account's quota, so that its clients reach it again and again. Sent as a total: a repeat adds nothing. */
  async addToTight(accounts: readonly Account[]): Promise<void> {
    this.#additions++;
    for (const { id, name } of accounts) {
      if (name === "tight") await this.#ask("PATCH", `/accounts/${id}`, { quota: tightQuota * (1 + this.#additions) });
    }
  }

  /** The wallets of an account and its key. */
  async wallets({ id, keyId }: Account): Promise<Wallets> {
    const wallet = read(account, await this.#ask("GET", `/accounts/${id}`));
    const key = read(apiKeyList, await this.#ask("GET", `/accounts/${id}/keys`)).data.find((one) => one.id === keyId);
    if (!key) throw new Error(`the key ${keyId} is gone`);
    return { account: wallet, key };
  }

  /** The sums of the ledger against those of the wallets. */
  async audit(): Promise<Audit> {
    return read(audit, await this.#ask("GET", "/audit"));
  }

  async #ask(method: "GET" | "POST" | "PATCH", path: string, body?: object) {
    const answer = await this.#http.ask(method, `/admin${path}`, this.#token, { body });
    if (!answer) throw new Error(`${method} /admin${path} got no answer from a running gateway`);
    return answer;
  }
}
