/** The gateway's API as it is passed to the Workers behind its other paths: for callers with their own key. */

import { RpcTarget } from "cloudflare:workers";

/** Passed to a Worker with each request. It adds no privileges: its requests are answered like the caller's own. */
export class GatewayApi extends RpcTarget {
  readonly #answer: (request: Request) => Promise<Response>;

  /** `answer` is the gateway's request handler. */
  constructor(answer: (request: Request) => Promise<Response>) {
    super();
    this.#answer = answer;
  }

  /** Answers a request to the gateway's origin, with the `Authorization` that the request carries. */
  fetch(request: Request): Promise<Response> {
    return this.#answer(request);
  }
}

/** A Worker behind one of the gateway's paths. It has no public address. */
export interface WorkerBehind {
  /** Answers a request that arrived at the gateway; `api` is the gateway's own API. */
  open(request: Request, api: Pick<GatewayApi, "fetch">): Promise<Response>;
}
