/** The operator's requests of a run, through the admin API: accounts with a key each, their wallets, the audit. */

import * as z from "zod/mini";
import { account, apiKeyList, audit, type Wallet } from "../support/api-answers.ts";
import { micro } from "../support/bill.ts";
import type { Account } from "./history.ts";
import { type Answer, read, type HttpClient } from "./http-client.ts";

/** The wallets of an account and its key. */
export interface Wallets {
  account: Wallet;
  key: Wallet;
}

// Other fields are allowed: the gateway of another release may send more or fewer.
const created = z.object({ id: z.string() });
const createdKey = z.object({ id: z.string(), key: z.string() });

/** The gateway must be up. */
export class Operator {
  readonly #http: HttpClient;
  readonly #token: string;

  constructor(http: HttpClient, token: string) {
    this.#http = http;
    this.#token = token;
  }

  /** A new account with one key; the quotas are in balance units, null is no limit. */
  async createAccount(name: string, quota: number | null, keyQuota: number | null): Promise<Account> {
    const { id } = read(created, await this.ask("POST", "/accounts", { email: `${name}@example.com`, name, quota }));
    const key = read(createdKey, await this.ask("POST", `/accounts/${id}/keys`, { name: "key", quota: keyQuota }));
    return { name, id, keyId: key.id, apiKey: key.key, isTight: false };
  }

  /** Changes an account's quota: `quota` is a total, so that a repeat adds nothing, `add` a credit. */
  async changeQuota({ id }: Account, change: { quota: number } | { add: number }): Promise<void> {
    await this.ask("PATCH", `/accounts/${id}`, change);
  }

  /** The wallets of an account and its key. */
  async wallets({ id, keyId }: Account): Promise<Wallets> {
    const wallet = read(account, await this.ask("GET", `/accounts/${id}`));
    const key = read(apiKeyList, await this.ask("GET", `/accounts/${id}/keys`)).data.find((one) => one.id === keyId);
    if (!key) throw new Error(`the key ${keyId} is gone`);
    return { account: wallet, key };
  }

  /** The sums of the ledger against those of the wallets. */
  async audit() {
    return read(audit, await this.ask("GET", "/audit"));
  }

  /** Throws unless the answer is a success. */
  async ask(method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<Answer> {
    const answer = await this.#http.ask(method, `/admin${path}`, this.#token, { body });
    if (!answer) throw new Error(`${method} /admin${path} got no answer from a running gateway`);
    if (answer.status >= 300) throw new Error(`${method} /admin${path} was answered ${answer.status}: ${answer.text}`);
    return answer;
  }
}

/** What is wrong with the wallets of an account and its only key: amounts below zero, quotas that are not the sums of their parts, a difference. */
export function walletFaults(name: string, { account, key }: Wallets): string[] {
  const faults = [...amountFaults(`${name}, account`, account), ...amountFaults(`${name}, key`, key)];
  if (account.used !== key.used || account.reserved !== key.reserved)
    faults.push(`${name}: the account used ${account.used} and reserved ${account.reserved}, its only key ${key.used} and ${key.reserved}`);
  return faults;
}

function amountFaults(name: string, { quota, used, reserved, remaining }: Wallet): string[] {
  const faults: string[] = [];
  if (used < 0 || reserved < 0 || (remaining ?? 0) < 0)
    faults.push(`${name}: below zero: used ${used}, reserved ${reserved}, remaining ${remaining}`);
  if ((quota === null) !== (remaining === null)) faults.push(`${name}: quota ${quota}, remaining ${remaining}`);
  if (quota !== null && micro(quota) !== micro(remaining ?? 0) + micro(used) + micro(reserved))
    faults.push(`${name}: quota ${quota} is not remaining ${remaining} + used ${used} + reserved ${reserved}`);
  return faults;
}
