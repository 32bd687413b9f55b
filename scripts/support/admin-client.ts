/** A client of a gateway's admin API: accounts, keys, invitations, models, the audit, the test alert. */

import * as z from "zod/mini";
import { account, apiKeyList, audit, invitation, modelEntry, soldModels, testAlert, type Wallet } from "./api-answers.ts";

const requestMs = 30_000;

const refused = z.object({
  error: z.object({ message: z.string(), details: z.optional(z.array(z.object({ param: z.string(), message: z.string() }))) }),
});

// Only what is read here: the gateway of another release may send more or fewer fields.
const oneAccount = z.object({ id: z.string(), admin: z.boolean(), remaining: z.nullable(z.number()) });
const someAccounts = z.object({ data: z.array(oneAccount) });
const newKey = z.object({ id: z.string(), key: z.string() });

/** The wallets of an account and one of its keys. */
export interface Wallets {
  account: Wallet;
  key: Wallet;
}

export interface AdminOptions {
  /** Makes the error if the gateway refuses the token. */
  refusal?: () => Error;
  fetch?: (url: string, init: RequestInit & { headers: Record<string, string> }) => Promise<Response>;
}

export class AdminClient {
  readonly #baseUrl: string;
  readonly #token: string;
  readonly #options: AdminOptions;

  constructor(baseUrl: string, token: string, options: AdminOptions = {}) {
    this.#baseUrl = baseUrl;
    this.#token = token;
    this.#options = options;
  }

  async #send(method: string, path: string, body?: object): Promise<{ status: number; ok: boolean; text: string }> {
    const { fetch = globalThis.fetch, refusal = () => new Error("the gateway refused the ADMIN_TOKEN") } = this.#options;
    const response = await fetch(`${this.#baseUrl}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestMs),
    });
    const text = await response.text();
    if (response.status === 401) throw refusal();
    return { status: response.status, ok: response.ok, text };
  }

  /** The answer of a path below `/admin`, checked against its schema. Throws unless it is a success. */
  async ask<T>(shape: z.ZodMiniType<T>, method: string, path: string, body?: object): Promise<T> {
    const { status, ok, text } = await this.#send(method, path, body);
    if (!ok) throw new Error(`${method} /admin${path} answered ${status}: ${text.slice(0, 300)}`);
    return shape.parse(text === "" ? undefined : JSON.parse(text));
  }

  /** The models with their routes. */
  async soldModels() {
    return (await this.ask(soldModels, "GET", "/models")).data;
  }

  /** A model's entry and its newest revision; 0 if it never had one. */
  async modelEntry(id: string): Promise<{ revision: number; entry: object | null }> {
    const path = `/models/${encodeURIComponent(id)}`;
    const { status, ok, text } = await this.#send("GET", path);
    if (status === 404) return { revision: 0, entry: null };
    if (!ok) throw new Error(`GET /admin${path} answered ${status}: ${text.slice(0, 300)}`);
    return modelEntry.parse(JSON.parse(text));
  }

  /** Stores a model's entry in place of this revision, or with `isDry` only checks it. Returns why it is refused; undefined if it is not. */
  async putModel(id: string, entry: object, revision: number, isDry = false): Promise<string | undefined> {
    const path = `/models/${encodeURIComponent(id)}?revision=${revision}${isDry ? "&dry_run=true" : ""}`;
    const { status, ok, text } = await this.#send("PUT", path, entry);
    if (ok) return undefined;
    if (status !== 400 && status !== 409) throw new Error(`PUT /admin${path} answered ${status}: ${text.slice(0, 300)}`);
    const { details = [], message } = refused.parse(JSON.parse(text)).error;
    return details.length > 0 ? details.map((one) => `${one.param} ${one.message}`).join("; ") : message;
  }

  /** Finds the account of this address, or creates it with this quota; null is unlimited. */
  async account(email: string, quota: number | null, name?: string) {
    const found = await this.ask(someAccounts, "GET", `/accounts?email=${encodeURIComponent(email)}`);
    return found.data[0] ?? this.ask(oneAccount, "POST", "/accounts", { email, quota, ...(name !== undefined && { name }) });
  }

  /** The same with the admin role. */
  async operatorAccount(email: string, quota: number, name?: string) {
    const found = await this.account(email, quota, name);
    if (!found.admin) await this.changeAccount(found.id, { admin: true });
    return found;
  }

  /** Changes an account: `quota` is a total, so that a repeat adds nothing, `add` a credit. */
  async changeAccount(id: string, change: { admin: boolean } | { quota: number } | { add: number }): Promise<void> {
    await this.ask(z.unknown(), "PATCH", `/accounts/${id}`, change);
  }

  async wallets(accountId: string, keyId: string): Promise<Wallets> {
    const key = (await this.ask(apiKeyList, "GET", `/accounts/${accountId}/keys`)).data.find((one) => one.id === keyId);
    if (!key) throw new Error(`the key ${keyId} is gone`);
    return { account: await this.ask(account, "GET", `/accounts/${accountId}`), key };
  }

  /** The sums of the ledger against those of the wallets. */
  async audit() {
    return this.ask(audit, "GET", "/audit");
  }

  /** Creates a key of this name, and deletes an earlier one of the same name, which was never shown. */
  async replaceKey(accountId: string, name: string, quota: number | null): Promise<{ id: string; key: string }> {
    const { data } = await this.ask(apiKeyList, "GET", `/accounts/${accountId}/keys`);
    for (const old of data.filter((one) => one.name === name)) await this.deleteKey(old.id);
    return this.createKey(accountId, name, quota);
  }

  async createKey(accountId: string, name: string, quota: number | null): Promise<{ id: string; key: string }> {
    return this.ask(newKey, "POST", `/accounts/${accountId}/keys`, { name, quota });
  }

  /** Sends a test alert, and returns how each receiver took it. */
  async testAlert() {
    return (await this.ask(testAlert, "POST", "/alerts/test")).receivers;
  }

  async deleteKey(id: string): Promise<void> {
    await this.ask(z.unknown(), "DELETE", `/keys/${id}`);
  }

  /** A link with which the user of this account signs up. */
  async invitation(accountId: string): Promise<string> {
    return (await this.ask(invitation, "POST", `/accounts/${accountId}/invitations`)).url;
  }
}
