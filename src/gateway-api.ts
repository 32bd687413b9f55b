/** The gateway's API for the Workers behind its other paths: for callers with an API key. */

import { RpcTarget } from "cloudflare:workers";

/** Passed to a Worker with each request. It adds no privileges: its requests are answered like the caller's own. */
export class GatewayApi extends RpcTarget {
  readonly #answer: (request: Request) => Promise<Response>;
  readonly #account: () => Promise<string | undefined>;

  /** `answer` is the gateway's request handler; `account` finds the account whose key is in the forwarded request. */
  constructor(answer: (request: Request) => Promise<Response>, account: () => Promise<string | undefined>) {
    super();
    this.#answer = answer;
    this.#account = account;
  }

  /** Answers a request to the gateway's origin, with the `Authorization` header of the forwarded request. */
  fetch(request: Request): Promise<Response> {
    return this.#answer(request);
  }

  /** The account of the caller's key, for resources that belong to the account; undefined if the key is unknown. */
  account(): Promise<string | undefined> {
    return this.#account();
  }
}

/** A Worker behind one of the gateway's paths. It has no public address. */
export interface WorkerBehind {
  /** Answers a request that arrived at the gateway; `api` is the gateway's own API. */
  open(request: Request, api: Pick<GatewayApi, "fetch" | "account">): Promise<Response>;
}
