/** The gateway's API for the Workers behind its other paths: for callers with an API key. */

import { RpcTarget } from "cloudflare:workers";

/** Passed to a Worker with each request. It adds no privileges: its requests are answered like the caller's own. */
export class GatewayApi extends RpcTarget {
  readonly #answer: (request: Request) => Promise<Response>;
  readonly #account: () => Promise<string | undefined>;
  readonly #countReads: (count: number) => Promise<Response | undefined>;

  /**
   * `answer` is the gateway's request handler; `account` finds the account whose key is in the forwarded request; `countReads` counts
   * requests within the forwarded one.
   */
  constructor(
    answer: (request: Request) => Promise<Response>,
    account: () => Promise<string | undefined>,
    countReads: (count: number) => Promise<Response | undefined>,
  ) {
    super();
    this.#answer = answer;
    this.#account = account;
    this.#countReads = countReads;
  }

  /** Answers a request to the gateway's origin, with the `Authorization` header of the forwarded request. */
  fetch(request: Request): Promise<Response> {
    return this.#answer(request);
  }

  /** The account of the caller's key, for resources that belong to the account; undefined if the key is unknown. */
  account(): Promise<string | undefined> {
    return this.#account();
  }

  /** Counts this many further reads against the caller's limits. Returns the error answer if they are exceeded. */
  countReads(count: number): Promise<Response | undefined> {
    return this.#countReads(count);
  }
}

/** An answer of the gateway as a value: a `Response` as an argument that its receiver does not read would keep the call open. */
export interface Refusal {
  status: number;
  headers: [string, string][];
  body: string;
}

/**
 * Reads an account's body to its end at the caller's pace, before the Worker behind the gateway takes a permit for it. Answers with the body
 * and its `content-length`, or with the status of an error and its code as text. To be called while the request is open.
 */
export type Receive = (accountId: string, body: ReadableStream<Uint8Array>, maxBytes: number) => Promise<Response>;

/** Whose resources a key may use. */
export interface KeyOwner {
  /** The key's wallet. */
  keyId: string;
  /** For a member's key: the wallets of all keys of the member, whose resources alone the key may use. */
  ownWallets?: string[] | undefined;
}

/** A Worker behind one of the gateway's paths. It has no public address. */
export interface WorkerBehind {
  /**
   * Answers a request that arrived at the gateway; `api` is the gateway's own API. With `refusal`, the gateway's answer to a request without
   * a valid key, nothing may be read or stored for it, and each request to `api` gets the same answer. `models` are the names and aliases
   * of all models, `owner` the caller's key; the previous release sends none.
   */
  open(
    request: Request,
    api: GatewayApi,
    receive: Receive,
    refusal?: Refusal,
    models?: readonly string[],
    owner?: KeyOwner,
  ): Promise<Response>;
}
